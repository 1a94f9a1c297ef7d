"""What a device offers to one kernel: the numbers that codegen and scheduling depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

# Bytes that one block may ask for, by compute capability. Source: CUDA C++ Programming Guide, "Compute
# Capabilities", "Maximum amount of shared memory per thread block".
SHARED_BYTES_PER_BLOCK: Final[Mapping[int, int]] = MappingProxyType(
    {
        70: 96 << 10,
        72: 96 << 10,
        75: 64 << 10,
        80: 163 << 10,
        86: 99 << 10,
        87: 163 << 10,
        89: 99 << 10,
        90: 227 << 10,
        100: 227 << 10,
        103: 227 << 10,
        110: 227 << 10,
        120: 99 << 10,
        121: 99 << 10,
    }
)


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """Limits of a GPU, read from the device where there is one.

    The defaults are those of compute capability 9.0 (CUDA C++ Programming Guide, "Compute Capabilities").
    `has_warpgroups` says that the source is compiled for sm_90a, which alone has wgmma.
    """

    architecture: int = 90
    multiprocessors: int = 132
    shared_bytes_per_block: int = SHARED_BYTES_PER_BLOCK[90]
    threads_per_block: int = 1024
    has_warpgroups: bool = False
