"""The table in device memory through which kernels find the inputs and outputs of the present call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

SMALL_CHUNK = 32
LARGE_CHUNK = 400  # with the other arguments below the 4 KiB that every GPU takes as parameters
_DTYPES = MappingProxyType(
    {size: np.dtype([("at", np.uint64, (size,))]) for size in (SMALL_CHUNK, LARGE_CHUNK)}
)
_THREADS = MappingProxyType({SMALL_CHUNK: 32, LARGE_CHUNK: 128})


class PointerTable:
    """Cells of 8 bytes, written in stream order by a kernel that gets the pointers by value.

    By value, since a host buffer would have to stay unchanged until the copy has run, and since the write
    can then be captured into a user's own CUDA graph.

    Args:
        cells: number of cells.
        device: where the kernels run.
        functions: the service kernels by name.
    """

    def __init__(self, cells: int, device: torch.device, functions: Mapping[str, Any]) -> None:
        self._memory = torch.empty(max(cells, 1), dtype=torch.int64, device=device)
        self._functions = functions
        self.address = self._memory.data_ptr()

    def write(self, pointers: Sequence[int], stream: Any) -> None:
        """Set all cells, after what is on the stream already and before what comes next."""
        for first, chunk in chunks(pointers):
            size = int(chunk["at"].shape[-1])
            count = min(size, len(pointers) - first)
            arguments = (np.uint64(self.address), chunk, np.int32(first), np.int32(count))
            self._functions[f"dlrmc_write_pointers_{size}"]((1,), (_THREADS[size],), arguments, 0, stream)


def chunks(pointers: Sequence[int]) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """The pointers as structures that cupy passes by value: arrays of one element of a structured dtype.

    Yields the number of the first cell and the structure; the places behind the last pointer are zero.
    """
    size = SMALL_CHUNK if len(pointers) <= SMALL_CHUNK else LARGE_CHUNK
    for first in range(0, len(pointers), size):
        part = pointers[first : first + size]
        chunk = np.zeros(1, dtype=_DTYPES[size])
        chunk["at"][0, : len(part)] = part
        yield first, chunk
