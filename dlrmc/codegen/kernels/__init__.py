"""The implementations of kernels, one file each; registry.py lists them."""
