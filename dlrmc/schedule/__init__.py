"""From a graph of kernels to a plan: launch order, buffers, device limits."""
