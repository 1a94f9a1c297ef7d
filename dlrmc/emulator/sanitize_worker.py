"""The process behind `SanitizedWorker`: requests on its standard input, answers on its standard output.

It runs with AddressSanitizer's runtime preloaded, so that malloc and what is built with it are checked. What
a kernel prints goes to standard error, where the sanitizers' reports go too.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dlrmc.emulator.library import load_library

_ALIGNMENT_BYTES = 256  # of an allocation on a GPU: CUDA C++ Programming Guide, "Device Memory Accesses"


class Heap:
    """Allocations of exactly the asked size; the sanitizer surrounds each with forbidden memory."""

    def __init__(self) -> None:
        self._c = ctypes.CDLL(None)
        self._c.posix_memalign.argtypes = [
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.c_size_t,
            ctypes.c_size_t,
        ]
        self._c.free.argtypes = [ctypes.c_void_p]
        self._addresses: list[int] = []

    def allocate(self, data: bytes) -> int:
        """The address of a copy of `data`.

        Raises:
            MemoryError: there is no room.
        """
        pointer = ctypes.c_void_p()
        if self._c.posix_memalign(ctypes.byref(pointer), _ALIGNMENT_BYTES, len(data)) or not pointer.value:
            raise MemoryError(f"no room for a buffer of {len(data)} bytes")
        self._addresses.append(pointer.value)
        ctypes.memmove(pointer.value, data, len(data))
        return pointer.value

    def free(self) -> None:
        """Give back all allocations."""
        for address in self._addresses:
            self._c.free(address)
        self._addresses.clear()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run the launches of a request; the runtime's error text or None, and the buffers that have changed."""
    heap = Heap()
    try:
        addresses = [heap.allocate(data) for data in request["buffers"]]
        error = _run(request, addresses, heap)
        changed: list[tuple[int, bytes]] = []
        for number, before in enumerate(request["buffers"]):
            after = ctypes.string_at(addresses[number], len(before))
            if after != before:
                changed.append((number, after))
        return {"error": error, "changed": changed}
    finally:
        heap.free()


def _run(request: dict[str, Any], addresses: Sequence[int], heap: Heap) -> str | None:
    library = load_library(Path(request["library"]))
    for number, grid, block, shared_bytes, arguments in request["launches"]:
        pointers: list[int] = []
        for buffer, offset_bytes, indirect in arguments:
            address = addresses[buffer] + offset_bytes
            pointers.append(heap.allocate(address.to_bytes(8, sys.byteorder)) if indirect else address)
        error = library.launch(
            number, (grid, 1, 1), (block, 1, 1), shared_bytes, pointers, request["order"], request["seed"]
        )
        if error is not None:
            return error
    return None


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(answer(request), answers)
        answers.flush()


def main() -> None:
    """Keep the answers' pipe for answers: whatever prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
