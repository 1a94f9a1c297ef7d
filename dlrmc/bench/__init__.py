"""Measuring dlrmc beside its peers: the work, the protocol, the variants, sweeps and their summary."""
