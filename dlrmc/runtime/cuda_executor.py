"""Runs a plan on a GPU: one arena, one CUDA graph, one launch a call on the caller's current torch stream."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dlrmc.codegen.source import ModuleSource
from dlrmc.errors import InputError
from dlrmc.runtime import cupy_modules
from dlrmc.runtime.addresses import AddressMap, Bases, BoundLaunch
from dlrmc.runtime.cuda_module import (
    SERVICE_KERNELS,
    StreamHandle,
    allow_shared_memory,
    launch_all,
    load_functions,
    service_source,
)
from dlrmc.runtime.device_faults import DeviceFaults
from dlrmc.runtime.faults import FaultLog
from dlrmc.runtime.module_cache import ModuleCache
from dlrmc.runtime.pointer_table import PointerTable
from dlrmc.runtime.tensors import empty, is_direct, make_direct
from dlrmc.runtime.weights import Residents
from dlrmc.schedule.plan import Plan

_PER_THREAD_STREAM = 2  # cudaStreamPerThread: one handle for a stream of each thread


@dataclass(frozen=True)
class CudaProgram:
    """What all executors of one compiled program share: code and weights on one GPU."""

    plan: Plan
    addresses: AddressMap
    functions: dict[str, Any]
    service: dict[str, Any]
    residents: Residents

    @property
    def device(self) -> torch.device:
        """The GPU."""
        return self.residents.device


def load_program(
    plan: Plan, module: ModuleSource, residents: Residents, cache: ModuleCache, arch: str
) -> CudaProgram:
    """Compile or find the module and load it on the GPU of the residents.

    Raises:
        CompileError: NVRTC is missing or refuses the source.
        CodegenError: plan and module do not fit each other.
    """
    addresses = AddressMap(plan, module)
    with torch.cuda.device(residents.device):
        torch.cuda.current_stream().synchronize()  # makes torch's context, and the uploads are complete
        functions = load_functions(cache.get(module.text, arch), [k.name for k in module.kernels])
        allow_shared_memory(functions, {k.name: k.shared_bytes for k in module.kernels})
        service = load_functions(cache.get(service_source(), arch), SERVICE_KERNELS)
    return CudaProgram(plan, addresses, functions, service, residents)


class CudaExecutor:
    """One instance of a program: its own arena, pointer table, fault record and CUDA graph.

    Calls from several threads run one at a time; calls on different streams are ordered one after the
    other, since they share the arena. `replica` gives an instance that runs beside this one.
    """

    def __init__(self, program: CudaProgram, log: FaultLog) -> None:
        self._program = program
        self._log = log
        self._lock = threading.RLock()
        self._table_content: tuple[int, ...] = ()
        self._last_stream = -1
        with torch.cuda.device(program.device):
            self._arena = self._allocate_arena()
            self._table = PointerTable(len(program.addresses.cells), program.device, program.service)
            self._faults = DeviceFaults(program.device, program.service)
            self._launches = self._bind(self._arena, self._table)
            self._graph = self._capture()
            self._done = cupy_modules.cuda().Event(disable_timing=True)

    def __del__(self) -> None:
        """The arena goes back to torch's pool, so the last call must be over."""
        if (done := getattr(self, "_done", None)) is None:
            return
        with contextlib.suppress(Exception):  # the driver may be gone when the process ends
            if not torch.cuda.is_current_stream_capturing():  # a wait would spoil the capture
                done.synchronize()

    @property
    def device(self) -> torch.device:
        """The GPU."""
        return self._program.device

    @property
    def devices(self) -> tuple[str, ...]:
        """The GPU, and the CPU: such an input is copied over."""
        return (str(self.device), "cpu")

    @property
    def memory_bytes(self) -> int:
        """The arena and what the weights needed beside the user's own."""
        return self._arena.nbytes + self._program.residents.bytes

    def replica(self, log: FaultLog) -> CudaExecutor:
        """Another instance over the same code and weights."""
        return CudaExecutor(self._program, log)

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Fresh outputs for checked inputs; see `Executor.run`.

        Inside a user's capture the kernels are recorded one by one, with an arena and a table of the
        capture's own pool: a CUDA graph cannot launch another while it is captured.
        """
        with self.entered() as capturing:
            placed = [self._place(tensor, capturing) for tensor in inputs]
            outputs = [empty(slot.type, self.device) for slot in self._program.plan.outputs]
            self.issue(self.cell_pointers(placed, outputs), capturing=capturing)
        return outputs

    def bind(self, inputs: Sequence[torch.Tensor]) -> CudaBoundCall:
        """A call with fixed addresses, on an instance of its own; see `Executor.bind`."""
        for tensor, slot in zip(inputs, self._program.plan.inputs, strict=True):
            if tensor.device != self.device or not is_direct(tensor):
                raise InputError(
                    f"input {slot.name}",
                    found=f"a tensor on {tensor.device} with strides {tuple(tensor.stride())}",
                    expected=f"a contiguous tensor on {self.device} at a multiple of 16 bytes",
                    hint="pass x.to(device).contiguous(), and write new values into that tensor",
                )
        return CudaBoundCall(self.replica(self._log), inputs, self._program.plan)

    def check(self) -> None:
        """Wait for all calls and raise what they recorded; see `Executor.check`."""
        with self._lock, torch.cuda.device(self.device):
            self._take()
        self._log.raise_pending()

    def fault_count(self) -> int:
        """Faults in all calls up to now; see `Executor.fault_count`."""
        with self._lock, torch.cuda.device(self.device):
            return self._log.total + self._faults.count()

    # -- one call --------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def entered(self) -> Iterator[bool]:
        """One call at a time, on the model's device, with faults raised before and after as `bounds` says.

        Yields whether the caller captures its current stream; then nothing may wait, and nothing is raised.
        """
        with self._lock, torch.cuda.device(self.device):
            capturing = torch.cuda.is_current_stream_capturing()
            if not capturing:
                self._raise_news()
            yield capturing
            if self._log.in_call and not capturing:
                self.check()

    def cell_pointers(
        self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
    ) -> tuple[int, ...]:
        """The content of the pointer table for these tensors."""
        return self._program.addresses.cell_pointers(
            [tensor.data_ptr() for tensor in inputs], [tensor.data_ptr() for tensor in outputs]
        )

    def issue(self, pointers: tuple[int, ...], *, capturing: bool = False) -> None:
        """Put the work of one call on the current stream of the current device."""
        stream = StreamHandle(torch._C._cuda_getCurrentRawStream(self.device.index))
        if capturing:
            self._issue_into_capture(pointers, stream)
            return
        self._follow_last_call(stream)
        if pointers != self._table_content:
            self._table_content = ()  # unknown, should the write fail
            self._table.write(pointers, stream)
            self._table_content = pointers
        if self._graph is not None:
            self._graph.launch(stream)
        self._done.record(stream)

    def _follow_last_call(self, stream: StreamHandle) -> None:
        """Arena and table are in use until the last call is over, on whichever stream that was."""
        if stream.ptr != self._last_stream or stream.ptr == _PER_THREAD_STREAM:
            cupy_modules.cuda().runtime.streamWaitEvent(stream.ptr, self._done.ptr)
        self._last_stream = stream.ptr

    def _issue_into_capture(self, pointers: tuple[int, ...], stream: StreamHandle) -> None:
        table = PointerTable(len(pointers), self.device, self._program.service)
        table.write(pointers, stream)
        self._launch(self._bind(self._allocate_arena(), table), stream)

    def _place(self, tensor: torch.Tensor, capturing: bool) -> torch.Tensor:
        """The tensor where kernels can read it: itself, or a copy made in stream order."""
        if tensor.device == self.device:
            return make_direct(tensor)
        if capturing and not tensor.is_pinned():
            raise InputError(
                "an input on the CPU",
                found="pageable memory while a CUDA graph is captured",
                expected=f"a tensor on {self.device}, or one in pinned memory",
                hint="move it before the capture",
            )
        # A copy that does not block would read a pinned tensor after the caller may have changed it.
        return make_direct(tensor.to(self.device, non_blocking=capturing))

    # -- faults ----------------------------------------------------------------------------------------------

    @property
    def _publishes(self) -> bool:
        return self._log.bounds != "ignore" and self._program.addresses.checks_bounds

    def _raise_news(self) -> None:
        if self._publishes and self._faults.has_news():
            self._take()
        self._log.raise_pending()

    def _take(self) -> None:
        if (fault := self._faults.take()) is not None:
            self._log.record(fault)

    # -- building --------------------------------------------------------------------------------------------

    def _allocate_arena(self) -> torch.Tensor:
        arena_bytes = max(self._program.plan.arena_bytes, 1)
        return torch.empty(arena_bytes, dtype=torch.uint8, device=self.device)

    def _bind(self, arena: torch.Tensor, table: PointerTable) -> tuple[BoundLaunch, ...]:
        residents = tuple(tensor.data_ptr() for tensor in self._program.residents.tensors)
        bases = Bases(residents, arena.data_ptr(), table.address, self._faults.address)
        return self._program.addresses.bind(bases)

    def _capture(self) -> Any:
        """All launches as one graph; None where there are none.

        What the graph points at is kept by this object: a cupy Graph keeps nothing alive.
        """
        if not self._launches:
            return None
        cuda = cupy_modules.cuda()
        stream, side = cuda.Stream(non_blocking=True), cuda.Stream(non_blocking=True)
        stream.begin_capture()  # relaxed: other threads may allocate and synchronise meanwhile
        try:
            self._launch(self._launches, stream, side)
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is the one to see
                stream.end_capture()
            raise
        return stream.end_capture()

    def _launch(self, launches: Sequence[BoundLaunch], stream: Any, side: Any = None) -> None:
        """Launch everything, and the report of faults on a branch beside what follows the last check."""
        split = self._program.addresses.last_check() + 1 if self._publishes else len(launches)
        launch_all(self._program.functions, launches[:split], stream)
        if self._publishes and side is None:
            self._faults.publish(stream)
        if self._publishes and side is not None:
            side.wait_event(stream.record())
            self._faults.publish(side)
        launch_all(self._program.functions, launches[split:], stream)
        if self._publishes and side is not None:
            stream.wait_event(side.record())


class CudaBoundCall:
    """A call with fixed addresses: `run` is one graph launch, and the outputs overwritten by each."""

    def __init__(self, executor: CudaExecutor, inputs: Sequence[torch.Tensor], plan: Plan) -> None:
        self._executor = executor
        self._inputs = tuple(inputs)  # kept alive: the graph knows their addresses only
        self.outputs = [empty(slot.type, executor.device) for slot in plan.outputs]
        self._pointers = executor.cell_pointers(self._inputs, self.outputs)

    def run(self) -> None:
        """Launch on the caller's current stream; raises as a call does."""
        with self._executor.entered() as capturing:
            self._executor.issue(self._pointers, capturing=capturing)
