"""What a device offers to one kernel: the numbers that codegen and scheduling depend on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """Limits of a GPU, read from the device where there is one.

    The defaults are those of compute capability 9.0 (CUDA C++ Programming Guide, "Compute Capabilities").
    `has_warpgroups` says that the source is compiled for sm_90a, which alone has wgmma.
    """

    architecture: int = 90
    multiprocessors: int = 132
    shared_bytes_per_block: int = 232448
    threads_per_block: int = 1024
    has_warpgroups: bool = False
