"""The arguments of a kernel launch in the form that the driver reads: an array of their addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


class KernelArguments:
    """Values of explicit width that stay in place; the driver copies them at each launch.

    Source: CUDA Driver API, cuLaunchKernel, `kernelParams`.

    Args:
        values: ctypes values in the order of the kernel's parameters.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = tuple(values)
        self._array = (ctypes.c_void_p * max(1, len(values)))(*map(ctypes.addressof, values))
        self.address = ctypes.addressof(self._array)

    @classmethod
    def of_pointers(cls, pointers: Sequence[int]) -> KernelArguments:
        """Every argument of an emitted kernel is a pointer of 8 bytes.

        They stand one behind the other, so that the first address is also that of a kernel's only parameter
        where this holds all pointers (codegen/cuda/kernel_pointers.cuh).
        """
        array = (ctypes.c_uint64 * len(pointers))(*pointers)
        start, size = ctypes.addressof(array), ctypes.sizeof(ctypes.c_uint64)
        # from_address does not keep the array alive; the last of the values does.
        views = [ctypes.c_uint64.from_address(start + size * number) for number in range(len(pointers))]
        return cls([*views, array])
