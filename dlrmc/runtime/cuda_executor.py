"""Runs a program on a GPU: one arena, one graph launch a call on the caller's current torch stream."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from dlrmc.errors import InputError
from dlrmc.runtime.binding import Binder
from dlrmc.runtime.cuda_module import launch_all
from dlrmc.runtime.cuda_program import CudaProgram
from dlrmc.runtime.device_faults import DeviceFaults
from dlrmc.runtime.faults import FaultLog
from dlrmc.runtime.graph_slots import GraphSlot, GraphSlots
from dlrmc.runtime.quick_call import (
    QuickCall,
    QuickStep,
    make_quick_call,
    make_quick_step,
    no_quick_call,
    no_quick_step,
)
from dlrmc.runtime.shared_weights import SharedWeights
from dlrmc.runtime.stream_order import StreamOrder
from dlrmc.runtime.tensors import is_direct, make_direct
from dlrmc.runtime.torch_internals import addresses_of, data_ptr, empty_maker

# Output addresses that are remembered: two alternate where a caller keeps the last result, a few more where
# results wait for a reader.
_SLOTS = 4


class CudaExecutor:
    """One instance of a program: its own arena, pointer tables, fault records and CUDA graphs.

    Calls from several threads run one at a time; calls on different streams are ordered one after the
    other, since they share the arena. `replica` gives an instance that runs beside this one.

    Args:
        program: code and weights.
        log: what to do with ids out of range.
        slots: how many sets of output addresses to remember.

    Attributes:
        calls: how many calls were issued, captures of the caller's own left out.
        calls_without_graph: how many calls were recorded into a capture.
        driver, lock, faults, order, slots, makers: what a call goes through, for the short way.
    """

    def __init__(self, program: CudaProgram, log: FaultLog, slots: int = _SLOTS) -> None:
        driver = program.driver
        self.calls = 0
        self.calls_without_graph = 0
        self._program = program
        self._log = log
        self.driver = driver
        self.lock = threading.RLock()
        with driver.entered(), torch.no_grad():
            self._arena = program.new_arena()
            self.faults = DeviceFaults(driver, program.addresses.checking_grids, is_told=log.is_told)
            self.order = StreamOrder(driver)
            self.slots = GraphSlots(program, self._arena, self.faults.address, slots)
        program.residents.shared.add_reader(self)
        self.makers = [empty_maker(slot.type, driver.device) for slot in program.plan.outputs]

    def __del__(self) -> None:
        """The arena goes back to torch's pool, so the last call must be over."""
        if (order := getattr(self, "order", None)) is None:
            return
        with contextlib.suppress(Exception):  # the driver may be gone when the process ends
            if not self.driver.is_capturing():  # a wait would spoil the capture
                order.wait()

    @property
    def device(self) -> torch.device:
        """The GPU."""
        return self._program.device

    @property
    def devices(self) -> tuple[str, ...]:
        """The GPU, and the CPU: such an input is copied over."""
        return tuple(dict.fromkeys((str(self.device), "cpu")))

    @property
    def memory_bytes(self) -> int:
        """The arena and what the weights needed beside the user's own."""
        return self._arena.nbytes + self._program.residents.bytes

    @property
    def weights(self) -> SharedWeights:
        """Those of the program."""
        return self._program.residents.shared

    def quick_call(self, binder: Binder) -> QuickCall:
        """The short way of a call; see `Executor.quick_call`."""
        if self._log.in_call:
            return no_quick_call
        return make_quick_call(self, binder, self.weights)

    def quick_step(self, slot: GraphSlot) -> QuickStep:
        """The short way of a bound call; see `BoundCall.quick`."""
        return no_quick_step if self._log.in_call else make_quick_step(self, slot.handle, self.weights)

    def replica(self) -> CudaExecutor:
        """Another instance over the same code and weights."""
        return CudaExecutor(self._program, self._log)

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
        return CudaBoundCall(CudaExecutor(self._program, self._log, slots=1), inputs)

    def check(self) -> None:
        """Wait for all calls and raise what they recorded; see `Executor.check`."""
        with self.lock, self.driver.entered():
            self.driver.synchronize()
            if self.faults.news[0]:
                self._raise_news()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """No call runs meanwhile; see `Executor.paused`."""
        with self.lock, self.driver.entered():
            self.driver.synchronize()
            yield

    def raise_recorded(self) -> None:
        """Raise what is known by now; see `Executor.raise_recorded`."""
        if not self.faults.news[0]:
            return
        with self.lock, self.driver.entered():
            if self.faults.news[0]:
                self._raise_news()

    def fault_count(self) -> int:
        """Faults in all calls up to now; see `Executor.fault_count`."""
        with self.lock, self.driver.entered():
            self.order.wait()
            return self._log.total + self.faults.count()

    # -- one call --------------------------------------------------------------------------------------------

    def run(
        self,
        inputs: list[torch.Tensor],
        outputs: list[torch.Tensor] | None = None,
        *,
        is_ready: bool = False,
    ) -> list[torch.Tensor]:
        """One call; see `Executor.run`. Flat: a call of a small model takes the GPU a few microseconds."""
        driver = self.driver
        if driver.has_other_devices and driver.current_device() != driver.index:
            with driver.entered():
                return self.run(inputs, outputs, is_ready=is_ready)
        with self.lock:
            if driver.is_capturing():
                return self.record_capture(inputs, outputs)
            if self.faults.news[0]:
                self._raise_news()
            stream, order = driver.current_stream(driver.index), self.order
            if stream != order.last:
                order.follow(stream)
            kept = inputs if is_ready else self._place_all(inputs, is_capturing=False)
            if outputs is None:
                outputs = [make() for make in self.makers]
            addresses = tuple(map(data_ptr, outputs))
            found = self.slots.read(tuple(kept))
            slot = self.slots.find(found, addresses)
            if slot is None:
                slot, kept = self.write(kept, found, addresses, stream)
            if slot.handle:
                driver.launch_graph(slot.handle, stream)
            if order.is_foreign:
                order.record()
            self.calls += 1
            if self._log.in_call:
                self.check()
        return outputs

    def write(
        self, inputs: Sequence[torch.Tensor], found: bytes, outputs: tuple[int, ...], stream: int
    ) -> tuple[GraphSlot, Sequence[torch.Tensor]]:
        """The slot of a call at new addresses, and the tensors to keep until the launch.

        Args:
            inputs: of the call.
            found: what `slots.read` says of them.
            outputs: addresses of the outputs.
            stream: where the call will run.
        """
        if not self.slots.is_aligned(found):
            inputs = [make_direct(tensor.detach()) for tensor in inputs]
            found = self.slots.read(tuple(inputs))
        return self.slots.write(found, outputs, stream), inputs

    def record_capture(
        self, inputs: Sequence[torch.Tensor], outputs: list[torch.Tensor] | None
    ) -> list[torch.Tensor]:
        """Record the kernels into the caller's own CUDA graph, one by one.

        A CUDA graph cannot launch another while it is captured. Arena and table are of the capture's own
        pool. Nothing may wait meanwhile, and nothing is raised.
        """
        program = self._program
        self.calls_without_graph += 1
        stream = self.driver.current_stream(self.driver.index)
        placed = self._place_all(inputs, is_capturing=True)
        if outputs is None:
            outputs = [make() for make in self.makers]
        arena, table = program.new_arena(), program.new_table()
        table.write(program.cells(placed, outputs), stream)
        launch_all(program.launches(arena, table, self.faults.address), stream, self.driver.launch_kernel)
        return outputs

    @torch.no_grad()
    def _place_all(self, inputs: Sequence[torch.Tensor], *, is_capturing: bool) -> list[torch.Tensor]:
        return [self._place(tensor, is_capturing=is_capturing) for tensor in inputs]

    def _place(self, tensor: torch.Tensor, *, is_capturing: bool) -> torch.Tensor:
        """The tensor where kernels can read it: itself, or a copy made in stream order."""
        if tensor.device == self.device:
            return make_direct(tensor)
        if is_capturing and not tensor.is_pinned():
            raise InputError(
                "an input on the CPU",
                found="pageable memory while a CUDA graph is captured",
                expected=f"a tensor on {self.device}, or one in pinned memory",
                hint="move it before the capture",
            )
        # A copy that does not block would read a pinned tensor after the caller may have changed it.
        return make_direct(tensor.to(self.device, non_blocking=is_capturing))

    def _raise_news(self) -> None:
        """Take the fault that the host was told of, once, and raise it."""
        self.order.wait()
        fault = self.faults.take()
        if fault is not None:
            self._log.count(fault)
            raise self._log.error(fault)

    # -- a bound call ----------------------------------------------------------------------------------------

    def fix(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> GraphSlot:
        """The slot that reads and writes these very tensors from now on."""
        with self.lock, self.driver.entered():
            stream = self.driver.current_stream(self.driver.index)
            self.order.follow(stream)
            found = self.slots.read(tuple(inputs))
            slot, _ = self.write(inputs, found, tuple(addresses_of(outputs)), stream)
            if self.order.is_foreign:
                self.order.record()
            return slot

    def repeat(self, slot: GraphSlot, on_capture: Callable[[], Any]) -> None:
        """Launch what a slot holds, or call `on_capture` inside the caller's own capture."""
        driver = self.driver
        if driver.has_other_devices and driver.current_device() != driver.index:
            with driver.entered():
                self.repeat(slot, on_capture)
            return
        with self.lock:
            if driver.is_capturing():
                on_capture()
                return
            if self.faults.news[0]:
                self._raise_news()
            stream, order = driver.current_stream(driver.index), self.order
            if stream != order.last:
                order.follow(stream)
            if slot.handle:
                driver.launch_graph(slot.handle, stream)
            if order.is_foreign:
                order.record()
            self.calls += 1
            if self._log.in_call:
                self.check()

    def fresh_outputs(self) -> list[torch.Tensor]:
        """Tensors for one call's results."""
        with self.driver.entered():
            return [make() for make in self.makers]


class CudaBoundCall:
    """A call with fixed addresses: `run` is one graph launch, and the outputs overwritten by each.

    Args:
        executor: an instance of this call's own, with one slot.
        inputs: kept alive, since the graph knows their addresses only.
    """

    def __init__(self, executor: CudaExecutor, inputs: Sequence[torch.Tensor]) -> None:
        self._executor = executor
        self._inputs = tuple(inputs)
        self.outputs = executor.fresh_outputs()
        slot = executor.fix(self._inputs, self.outputs)
        # Not methods of this object: it must not wait for the garbage collector.
        record = partial(executor.record_capture, self._inputs, self.outputs)
        self.run: Callable[[], None] = partial(executor.repeat, slot, record)
        self.quick = executor.quick_step(slot)

    def check(self) -> None:
        """Wait, and raise what the runs recorded; see `Executor.check`."""
        self._executor.check()
