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
# CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC and CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC of cuda.h.
_PORT_PROGRAMMATIC = 1
_TYPE_PROGRAMMATIC = 1
# CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, and the first one whose kernels can wait by themselves.
_CAPABILITY_MAJOR = 75
_PROGRAMMATIC_MAJOR = 9


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One launch: the `CUfunction`, blocks, threads a block, dynamic shared memory a block, arguments.

    `is_chained` says that the kernel waits itself for the one before it (codegen/cuda/kernel_chain.cuh).
    """

    function: int
    grid: int
    block: int
    shared_bytes: int
    arguments: KernelArguments
    is_chained: bool = False


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


class GraphEdgeData(ctypes.Structure):
    """`CUgraphEdgeData` of the driver API."""

    _fields_ = (
        ("from_port", ctypes.c_ubyte),
        ("to_port", ctypes.c_ubyte),
        ("type", ctypes.c_ubyte),
        ("reserved", ctypes.c_ubyte * 5),
    )

    @classmethod
    def programmatic(cls) -> GraphEdgeData:
        """An edge to a kernel that may start once all blocks of the one before let it, or have ended."""
        return cls(from_port=_PORT_PROGRAMMATIC, to_port=0, type=_TYPE_PROGRAMMATIC)


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
            may_overlap = _has_programmatic_edges(cuda.runtime, library)
            last: ctypes.c_void_p | None = None
            for launch in launches:
                node = _add_kernel(cuda.driver, library, graph, KernelNodeParams.of(launch))
                if last is not None:
                    is_programmatic = may_overlap and launch.is_chained
                    _add_edge(cuda.driver, library, graph, (last, node), is_programmatic=is_programmatic)
                last = node
            self.handle = int(cuda.runtime.graphInstantiate(graph.value))
        finally:
            cuda.runtime.graphDestroy(graph.value)

    def __del__(self) -> None:
        """A graph in flight is freed when it has run."""
        if (handle := getattr(self, "handle", 0)) != 0:
            with contextlib.suppress(Exception):  # the driver may be gone when the process ends
                self._runtime.graphExecDestroy(handle)


def _has_programmatic_edges(runtime: Any, library: ctypes.CDLL) -> bool:
    """Whether the current device and the driver know them: compute capability 9.0 and CUDA 12.3."""
    major = int(runtime.deviceGetAttribute(_CAPABILITY_MAJOR, runtime.getDevice()))
    return major >= _PROGRAMMATIC_MAJOR and hasattr(library, "cuGraphAddDependencies_v2")


def _add_kernel(
    driver: Any, library: ctypes.CDLL, graph: ctypes.c_void_p, params: KernelNodeParams
) -> ctypes.c_void_p:
    """Add a node that waits for nothing yet; returns it."""
    node = ctypes.c_void_p()
    nothing = ctypes.c_size_t(0)
    status = library.cuGraphAddKernelNode_v2(ctypes.byref(node), graph, None, nothing, ctypes.byref(params))
    driver.check_status(status)
    return node


def _add_edge(
    driver: Any,
    library: ctypes.CDLL,
    graph: ctypes.c_void_p,
    nodes: tuple[ctypes.c_void_p, ctypes.c_void_p],
    *,
    is_programmatic: bool,
) -> None:
    """Let the second node run behind the first."""
    before, after = (ctypes.byref(node) for node in nodes)
    one = ctypes.c_size_t(1)
    if is_programmatic:
        edge = ctypes.byref(GraphEdgeData.programmatic())
        status = library.cuGraphAddDependencies_v2(graph, before, after, edge, one)
    else:
        status = library.cuGraphAddDependencies(graph, before, after, one)
    driver.check_status(status)
