"""A compiled module on one GPU, loaded through `cupy.RawModule`, and launches of its kernels."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlrmc.runtime import cupy_modules
from dlrmc.runtime.addresses import BoundLaunch
from dlrmc.runtime.cache_entry import Entry
from dlrmc.runtime.kernel_arguments import KernelArguments
from dlrmc.runtime.kernel_graph import KernelLaunch
from dlrmc.runtime.pointer_table import CHUNKS

# The runtime's own kernels, one module: they need no more than one compile and one load.
SERVICE_KERNELS = tuple(f"dlrmc_write_pointers_{size}" for size in CHUNKS)


def service_source() -> str:
    """The CUDA source of `SERVICE_KERNELS`."""
    return (Path(__file__).parent / "cuda" / "pointer_table.cu").read_text(encoding="utf-8")


@dataclass(frozen=True)
class LoadedKernels:
    """The kernels of a module on one GPU.

    Args:
        handles: the `CUfunction` of each by name.
        owners: what keeps the module loaded.
    """

    handles: Mapping[str, int]
    owners: tuple[Any, ...]


def load_kernels(entry: Entry, names: Iterable[str]) -> LoadedKernels:
    """The kernels of a module on the current device.

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


def _load(path: Path, names: Iterable[str]) -> LoadedKernels:
    module = cupy_modules.raw_module(str(path))
    functions = {name: module.get_function(name).kernel for name in names}
    handles = {name: int(function.ptr) for name, function in functions.items()}
    return LoadedKernels(handles, (module, *functions.values()))


def allow_shared_memory(kernels: LoadedKernels, shared_bytes: Mapping[str, int]) -> None:
    """Let kernels use the dynamic shared memory they need; above 48 KiB the driver wants to be asked.

    Source: CUDA C++ Programming Guide, cudaFuncAttributeMaxDynamicSharedMemorySize.
    """
    driver = cupy_modules.cuda().driver
    attribute = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    for name, size in shared_bytes.items():
        if size > 0:
            driver.funcSetAttribute(kernels.handles[name], attribute, size)


def kernel_launches(kernels: LoadedKernels, launches: Iterable[BoundLaunch]) -> list[KernelLaunch]:
    """The launches with the handles of their kernels, and arguments in the form that the driver reads."""
    return [
        KernelLaunch(
            kernels.handles[launch.kernel.name],
            launch.kernel.grid,
            launch.kernel.block,
            launch.kernel.shared_bytes,
            KernelArguments.of_pointers(launch.pointers),
            is_chained=launch.kernel.is_chained,
        )
        for launch in launches
    ]


def launch_all(launches: Iterable[KernelLaunch], stream: int, launch_kernel: Callable[..., Any]) -> None:
    """Launch kernels in order on a stream."""
    for each in launches:
        grid, block = (each.grid, 1, 1), (each.block, 1, 1)
        arguments = each.arguments.address
        launch_kernel(each.function, *grid, *block, each.shared_bytes, stream, arguments, 0)
