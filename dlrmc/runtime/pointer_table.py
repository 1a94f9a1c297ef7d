"""The table in device memory through which kernels find the inputs and outputs of the present call."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from dlrmc.runtime.kernel_arguments import KernelArguments

# Pointers that one kernel takes; with the other arguments below the 4 KiB that every GPU takes as parameters.
CHUNKS = (32, 128, 400)
THREADS = 128


class PointerTable:
    """Cells of 8 bytes, written in stream order by a kernel that gets the pointers by value.

    By value, since a host buffer would have to stay unchanged until the copy has run, and since the write
    can then be captured into a user's own CUDA graph. The driver copies the arguments when it launches, so
    they are packed once, into memory of the table's own.

    Args:
        cells: number of cells.
        device: where the kernels run.
        functions: the handles of the service kernels by name.
        launch_kernel: `CudaDriver.launch_kernel`.
    """

    def __init__(
        self,
        cells: int,
        device: torch.device,
        functions: Mapping[str, int],
        launch_kernel: Callable[..., Any],
    ) -> None:
        self._memory = torch.empty(max(cells, 1), dtype=torch.int64, device=device)
        self.address = self._memory.data_ptr()
        self._launch_kernel = launch_kernel
        size = next((size for size in CHUNKS if size >= cells), CHUNKS[-1])
        self._function = functions[f"dlrmc_write_pointers_{size}"]
        self._chunks = [
            _Chunk(self.address, first, min(size, cells - first), size) for first in range(0, cells, size)
        ]

    def write(self, pointers: Sequence[int], stream: int) -> None:
        """Set all cells, after what is on the stream already and before what comes next."""
        for chunk in self._chunks:
            chunk.pack(pointers)
            self._launch_kernel(self._function, 1, 1, 1, THREADS, 1, 1, 0, stream, chunk.arguments.address, 0)


class _Chunk:
    """The arguments of one launch: the table, a structure of `size` pointers, the first cell, the count."""

    def __init__(self, table: int, first: int, count: int, size: int) -> None:
        self._slice = slice(first, first + count)
        self._packer = struct.Struct(f"{count}Q")
        self._pointers = (ctypes.c_uint64 * size)()
        self.arguments = KernelArguments(
            (ctypes.c_uint64(table), self._pointers, ctypes.c_int32(first), ctypes.c_int32(count))
        )

    def pack(self, pointers: Sequence[int]) -> None:
        self._packer.pack_into(self._pointers, 0, *pointers[self._slice])
