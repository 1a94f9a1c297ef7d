"""CUDA for tests without a GPU: the executor's driver, with the emulator behind it.

Work is done when it is launched, so nothing is ever late; `events` keeps what was asked in which order.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from dlrmc.emulator.module import EmulatedModule
from dlrmc.runtime.addresses import AddressMap
from dlrmc.runtime.build import Build
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.cuda_driver import CudaDriver
from dlrmc.runtime.cuda_executor import CudaExecutor
from dlrmc.runtime.cuda_module import SERVICE_KERNELS, LoadedKernels
from dlrmc.runtime.cuda_program import CudaProgram
from dlrmc.runtime.kernel_graph import KernelLaunch
from dlrmc.runtime.load import fault_log
from dlrmc.runtime.weights import Residents

CPU = torch.device("cpu")
FIRST_EMITTED = 100


class FakeDriver(CudaDriver):
    """The methods of CudaDriver; `stream` and `captures` stand for torch's state."""

    def __init__(self) -> None:
        self.device = CPU
        self.index = 0
        self.stream = 0
        self.captures = False
        self.captured_streams: set[int] = set()
        self.foreign: set[int] = set()
        self.events: list[tuple[Any, ...]] = []
        self.graphs: dict[int, list[KernelLaunch]] = {}
        self.module: EmulatedModule | None = None
        self.has_other_devices = False
        self.current_stream = lambda index: self.stream
        self.is_capturing = lambda: self.captures
        self.current_device = lambda: 0
        self.launch_graph = self._launch_graph
        self.launch_kernel = self._launch_kernel

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        yield

    def _launch_graph(self, handle: int, stream: int) -> None:
        self.events.append(("graph", stream))
        for each in self.graphs[handle]:
            self._run(each.function, each.grid, each.block, each.shared_bytes, each.arguments.address)

    def _launch_kernel(self, function: int, *rest: Any) -> None:
        grid, _, _, block, _, _, shared_bytes, stream, arguments, _ = rest
        if function < FIRST_EMITTED:
            self.events.append(("table", stream))
            _write_pointers(arguments)
            return
        self.events.append(("kernel", stream))
        self._run(function, grid, block, shared_bytes, arguments)

    def _run(self, function: int, grid: int, block: int, shared_bytes: int, arguments: int) -> None:
        assert self.module is not None
        name = self.module.kernel_names[function - FIRST_EMITTED]
        _, count = self.module._kernels[name]
        pointers = [_u64(arguments, n) for n in range(count)]
        self.module.launch(name, grid, block, shared_bytes, pointers)

    def make_graph(self, launches: Sequence[KernelLaunch]) -> Any:
        handle = len(self.graphs) + 1
        self.graphs[handle] = list(launches)
        return SimpleNamespace(handle=handle)

    def new_event(self) -> Any:
        return SimpleNamespace(synchronize=lambda: self.events.append(("wait on host",)))

    def record_event(self, event: Any, stream: int) -> None:
        self.events.append(("record", stream))

    def wait_event(self, stream: int, event: Any) -> None:
        self.events.append(("wait", stream))

    def stream_is_capturing(self, stream: int) -> bool:
        return stream in self.captured_streams

    def is_foreign(self, stream: int) -> bool:
        return stream in self.foreign

    def synchronize(self) -> None:
        self.events.append(("synchronize",))

    def synchronize_stream(self) -> None:
        self.events.append(("synchronize stream",))

    def device_address(self, pinned: torch.Tensor) -> int:
        return pinned.data_ptr()


def _u64(arguments: int, number: int, kind: Any = ctypes.c_uint64) -> int:
    address = ctypes.c_uint64.from_address(arguments + 8 * number).value
    return kind.from_address(address).value


def _write_pointers(arguments: int) -> None:
    """What pointer_table.cu does."""
    table = _u64(arguments, 0)
    pointers = ctypes.c_uint64.from_address(arguments + 8).value
    first, count = _u64(arguments, 2, ctypes.c_int32), _u64(arguments, 3, ctypes.c_int32)
    ctypes.memmove(table + 8 * first, pointers, 8 * count)


def compile_on_fake_cuda(build: Build) -> tuple[Compiled, FakeDriver]:
    """A program whose calls go all the way of a GPU's, and the driver that they use."""
    driver = FakeDriver()
    kernels = [(kernel.name, len(kernel.params)) for kernel in build.module.kernels]
    if kernels:
        folder = build.options.cache_dir / "emulator"
        driver.module = EmulatedModule.build(build.module.text, kernels, cache_dir=folder)
    handles = {name: FIRST_EMITTED + number for number, (name, _) in enumerate(kernels)}
    service = {name: number for number, name in enumerate(SERVICE_KERNELS, 1)}
    program = CudaProgram(
        driver,
        build.plan,
        AddressMap(build.plan, build.module),
        LoadedKernels(handles, ()),
        LoadedKernels(service, ()),
        Residents(build.plan.residents, build.program.weights, CPU),
        build.options.cache_dir,
    )
    return Compiled(build, CudaExecutor(program, fault_log(build))), driver
