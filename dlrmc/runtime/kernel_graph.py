"""A CUDA graph made node by node.

Not by stream capture: while a stream of the device is captured, another thread's `cudaDeviceSynchronize` is
an error and spoils the capture (CUDA C++ Programming Guide, "Prohibited and Unhandled Operations"), so a
server could neither bind nor take a replica while it serves. cupy has no function that adds a node, so the
driver's own is called, in the version of every driver from CUDA 12 on.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlrmc.runtime import cupy_modules
from dlrmc.runtime.kernel_arguments import KernelArguments

_LIBRARY = "libcuda.so.1"


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One launch: the `CUfunction`, blocks, threads a block, dynamic shared memory a block, arguments."""

    function: int
    grid: int
    block: int
    shared_bytes: int
    arguments: KernelArguments


class KernelNodeParams(ctypes.Structure):
    """`CUDA_KERNEL_NODE_PARAMS_v2` of the driver API; `kern` and `ctx` do not count where `func` is set."""

    _fields_ = (
        ("func", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("kernel_params", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kern", ctypes.c_void_p),
        ("ctx", ctypes.c_void_p),
    )

    @classmethod
    def of(cls, launch: KernelLaunch) -> KernelNodeParams:
        """The parameters of a node; the driver copies the arguments when it adds the node."""
        grid, block = (launch.grid, 1, 1), (launch.block, 1, 1)
        return cls(launch.function, grid, block, launch.shared_bytes, launch.arguments.address, None)


class KernelGraph:
    """Kernels one after the other, ready to be launched as a whole on the current device.

    The graph keeps nothing alive that its kernels point at.

    Args:
        launches: at least one.

    Attributes:
        handle: of the executable graph, for `graphLaunch`.

    Raises:
        cupy's CUDADriverError or CUDARuntimeError: the driver refused.
    """

    def __init__(self, launches: Sequence[KernelLaunch]) -> None:
        cuda = cupy_modules.cuda()
        self._runtime: Any = cuda.runtime
        library = ctypes.CDLL(_LIBRARY)
        graph = ctypes.c_void_p()
        cuda.driver.check_status(library.cuGraphCreate(ctypes.byref(graph), ctypes.c_uint(0)))
        try:
            last: ctypes.c_void_p | None = None
            for launch in launches:
                last = _add_kernel(cuda.driver, library, graph, last, KernelNodeParams.of(launch))
            self.handle = int(cuda.runtime.graphInstantiate(graph.value))
        finally:
            cuda.runtime.graphDestroy(graph.value)

    def __del__(self) -> None:
        """A graph in flight is freed when it has run."""
        if (handle := getattr(self, "handle", 0)) != 0:
            with contextlib.suppress(Exception):  # the driver may be gone when the process ends
                self._runtime.graphExecDestroy(handle)


def _add_kernel(
    driver: Any,
    library: ctypes.CDLL,
    graph: ctypes.c_void_p,
    after: ctypes.c_void_p | None,
    params: KernelNodeParams,
) -> ctypes.c_void_p:
    """Add a node behind another one; returns it."""
    node = ctypes.c_void_p()
    before = None if after is None else ctypes.byref(after)
    count = ctypes.c_size_t(0 if after is None else 1)
    status = library.cuGraphAddKernelNode_v2(ctypes.byref(node), graph, before, count, ctypes.byref(params))
    driver.check_status(status)
    return node
