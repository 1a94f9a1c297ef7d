"""Reads the addresses of a call's tensors, packed as the machine's 64-bit words.

A loop in Python costs 40 to 80 ns for each tensor, most of it around torch's function. With many tensors a
loop in C++ takes its place (`address_reader.cpp`) where the machine has a compiler; the words are the same.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch

from dlrmc.emulator.artifacts import cached_file, digest_of
from dlrmc.emulator.compiler import find_compiler
from dlrmc.errors import CompileError
from dlrmc.runtime.torch_internals import data_ptr, data_ptr_function

# Takes a tuple of as many tensors as the reader was made for.
AddressReader = Callable[[tuple[torch.Tensor, ...]], bytes]

# With fewer tensors the way into the library costs as much as the loop in Python.
FEWEST_TENSORS: Final = 12
_SOURCE: Final = Path(__file__).with_suffix(".cpp")
_FLAGS: Final = ("-std=c++17", "-O2", "-fPIC", "-shared")
_LOGGER = logging.getLogger("dlrmc")


def make_address_reader(count: int, cache_dir: Path | None) -> AddressReader:
    """A reader of so many tensors; only one thread at a time may use it.

    Args:
        count: of tensors.
        cache_dir: the compiled loop is kept in its folder `host`; None is the loop in Python.
    """
    pack = struct.Struct(f"={count}Q").pack

    def read_one_by_one(tensors: tuple[torch.Tensor, ...]) -> bytes:
        return pack(*map(data_ptr, tensors))

    loop = _compiled_loop(cache_dir) if cache_dir is not None and count >= FEWEST_TENSORS else None
    if loop is None:
        return read_one_by_one
    read_all, words, addresses = loop, ctypes.c_ssize_t(count), (ctypes.c_uint64 * count)()
    function, start = ctypes.c_void_p(data_ptr_function()), ctypes.c_void_p(ctypes.addressof(addresses))

    def read(tensors: tuple[torch.Tensor, ...]) -> bytes:
        if read_all(function, tensors, words, start):
            return bytes(addresses)
        return read_one_by_one(tensors)  # it raises what the library cannot

    return read


@functools.cache
def _compiled_loop(cache_dir: Path) -> Callable[..., int] | None:
    """The function of the library, built once on a machine; None where this machine or torch has no way."""
    if data_ptr_function() is None:
        return None
    try:
        library = ctypes.PyDLL(str(_build_library(cache_dir / "host")))
    except (CompileError, OSError) as error:
        _LOGGER.debug("addresses are read in Python: %s", error)
        return None
    loop: Any = library.dlrmc_read_addresses
    loop.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_ssize_t, ctypes.c_void_p)
    loop.restype = ctypes.c_int
    return loop


def _build_library(directory: Path) -> Path:
    """The path of the shared library.

    Raises:
        CompileError: there is no C++ compiler, or it refuses.
        OSError: the directory cannot be written.
    """
    compiler = find_compiler()
    key = digest_of([_SOURCE.read_text(), compiler.version, *_FLAGS])

    def build(path: Path) -> None:
        compiler.run([*_FLAGS, str(_SOURCE), "-o", str(path)])

    return cached_file(directory, f"address_reader-{key}.so", build)
