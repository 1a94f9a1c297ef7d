"""A built module, loaded: the C interface of `cuda/runtime/runtime.cpp` through ctypes."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ORDERS = ("forward", "reverse", "random")


class LaunchRequest(ctypes.Structure):
    """The runtime's struct of the same name."""

    _fields_ = (
        ("kernel", ctypes.c_int),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_int),
        ("order", ctypes.c_int),
        ("seed", ctypes.c_ulonglong),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("stacks", ctypes.c_void_p),
    )


class Library:
    """One loaded library. A launch holds its lock: the library has one launch's state."""

    def __init__(self, path: Path) -> None:
        self._functions = ctypes.CDLL(str(path))
        self._functions.dlrmc_emulator_launch.argtypes = [ctypes.POINTER(LaunchRequest)]
        self._functions.dlrmc_emulator_launch.restype = ctypes.c_char_p
        self._functions.dlrmc_emulator_allocate_stacks.argtypes = []
        self._functions.dlrmc_emulator_allocate_stacks.restype = ctypes.c_void_p
        self._lock = threading.Lock()

    def launch(
        self,
        kernel: int,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        pointers: Sequence[int],
        order: str,
        seed: int,
    ) -> str | None:
        """Run kernel number `kernel`; the runtime's error text, or None."""
        arguments = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)
        with self._lock, _stack_pool().lease(self) as stacks:
            request = LaunchRequest(
                kernel,
                tuple(grid),
                tuple(block),
                shared_bytes,
                ORDERS.index(order),
                seed,
                ctypes.cast(arguments, ctypes.POINTER(ctypes.c_void_p)),
                stacks,
            )
            error: bytes | None = self._functions.dlrmc_emulator_launch(ctypes.byref(request))
            return None if error is None else error.decode(errors="replace")

    def allocate_stacks(self) -> int:
        """The address of new stacks for the threads of one block.

        Raises:
            MemoryError: there is no room for them.
        """
        address: int | None = self._functions.dlrmc_emulator_allocate_stacks()
        if address is None:
            raise MemoryError("no address space for the stacks of emulated threads")
        return address


@functools.cache
def load_library(path: Path) -> Library:
    """The one loaded library of a path: the system's loader would not load it twice either."""
    return Library(path)


class StackPool:
    """Stacks that all modules of the process share: each costs two memory mappings, and a process has few."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._lock = threading.Lock()

    @contextmanager
    def lease(self, library: Library) -> Iterator[int]:
        """The address of a set of stacks that nobody else uses meanwhile."""
        with self._lock:
            stacks = self._free.pop() if self._free else None
        if stacks is None:
            stacks = library.allocate_stacks()
        try:
            yield stacks
        finally:
            with self._lock:
                self._free.append(stacks)


@functools.cache
def _stack_pool() -> StackPool:
    return StackPool()
