"""A compiled module on one GPU, loaded through `cupy.RawModule`; launches with explicit argument widths."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dlrmc.runtime import cupy_modules
from dlrmc.runtime.addresses import BoundLaunch
from dlrmc.runtime.cache_entry import Entry

# The runtime's own kernels, one module: they need no more than one compile and one load.
_SERVICE_FILES = ("pointer_table.cu", "publish_faults.cu")
SERVICE_KERNELS = ("dlrmc_write_pointers_32", "dlrmc_write_pointers_400", "dlrmc_publish_faults")


def service_source() -> str:
    """The CUDA source of `SERVICE_KERNELS`."""
    folder = Path(__file__).parent / "cuda"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in _SERVICE_FILES)


@dataclass(frozen=True, slots=True)
class StreamHandle:
    """A `cudaStream_t` of torch in the shape that cupy asks for; cupy's own ExternalStream is deprecated."""

    ptr: int


def load_functions(entry: Entry, names: Iterable[str]) -> dict[str, Any]:
    """The kernels of a module by name, as `cupy.cuda.Function`, on the current device.

    Loading goes by file, since cupy's RawModule takes no image. cupy keeps modules by path for the life of
    the process, so a path must stand for one content: cache files are named by their key.
    """
    driver = cupy_modules.cuda().driver
    if entry.path is not None and entry.path.exists():
        try:
            return _load(entry.path, names)
        except driver.CUDADriverError:
            if entry.path.exists():
                raise
            # another process removed the entry meanwhile
    handle, path = tempfile.mkstemp(prefix="dlrmc-", suffix=".cubin")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(entry.cubin.data)
        return _load(Path(path), names)
    finally:
        Path(path).unlink(missing_ok=True)


def _load(path: Path, names: Iterable[str]) -> dict[str, Any]:
    module = cupy_modules.raw_module(str(path))
    return {name: module.get_function(name).kernel for name in names}


def allow_shared_memory(functions: Mapping[str, Any], shared_bytes: Mapping[str, int]) -> None:
    """Let kernels use the dynamic shared memory they need; above 48 KiB the driver wants to be asked.

    Source: CUDA C++ Programming Guide, cudaFuncAttributeMaxDynamicSharedMemorySize.
    """
    driver = cupy_modules.cuda().driver
    attribute = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    for name, size in shared_bytes.items():
        if size > 0:
            driver.funcSetAttribute(functions[name].ptr, attribute, size)


def launch_all(functions: Mapping[str, Any], launches: Sequence[BoundLaunch], stream: Any) -> None:
    """Launch kernels in order on a stream: anything with the handle in its attribute `ptr`."""
    for launch in launches:
        kernel = launch.kernel
        function = functions[kernel.name]
        function((kernel.grid,), (kernel.block,), launch_arguments(launch), kernel.shared_bytes, stream)


def launch_arguments(launch: BoundLaunch) -> tuple[np.uint64, ...]:
    """Every argument is a pointer of 8 bytes; the width is said, never left for cupy to guess."""
    return tuple(np.uint64(pointer) for pointer in launch.pointers)
