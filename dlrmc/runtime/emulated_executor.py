"""Runs the emitted CUDA of a plan on the CPU: the same source, buffers and pointer table, in order."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from dlrmc.codegen.fault_record import FAULTS_DTYPE
from dlrmc.codegen.source import ModuleSource
from dlrmc.emulator.module import EmulatedModule
from dlrmc.runtime.addresses import AddressMap, Bases
from dlrmc.runtime.binding import Binder
from dlrmc.runtime.bound_call import RepeatedCall
from dlrmc.runtime.counted_inputs import CountedInputs
from dlrmc.runtime.faults import FaultLog, fault_count, first_fault
from dlrmc.runtime.quick_call import QuickCall, no_quick_call
from dlrmc.runtime.shared_weights import SharedWeights
from dlrmc.runtime.tensors import empty, make_direct
from dlrmc.runtime.torch_internals import addresses_of
from dlrmc.runtime.weights import Residents
from dlrmc.schedule.plan import Plan

# What a GPU allocator guarantees, and more than any vector access of the kernels needs.
_ARENA_ALIGNMENT_BYTES = 256


class EmulatedExecutor:
    """The emitted kernels of a plan, on this machine's CPU. Calls from several threads run one at a time.

    Args:
        plan: what runs on which buffers.
        module: the emitted source.
        emulated: the same source, built for this machine; None where there is no kernel.
        residents: weights and constants, on the CPU.
        log: what to do with ids out of range.
    """

    def __init__(
        self,
        plan: Plan,
        module: ModuleSource,
        emulated: EmulatedModule | None,
        residents: Residents,
        log: FaultLog,
    ) -> None:
        self._plan = plan
        self._emulated = emulated
        self._residents = residents  # kept alive: the launches know addresses only
        self._log = log
        self._module = module
        self.calls = 0
        self._lock = threading.RLock()
        self._addresses = AddressMap(plan, module)
        self._counts = CountedInputs(plan.counted).counts
        self._arena = _aligned_bytes(plan.arena_bytes)
        self._table = np.zeros(max(len(self._addresses.cells), 1), dtype=np.uint64)
        self._news = np.zeros(1, dtype=np.uint32)
        self._faults = np.zeros(max(len(self._addresses.checking_grids), 1), dtype=FAULTS_DTYPE)
        self._faults["news"] = self._news.ctypes.data if log.is_told else 0
        bases = Bases(
            residents=tuple(tensor.data_ptr() for tensor in residents.tensors),
            arena=self._arena.ctypes.data,
            table=self._table.ctypes.data,
            faults=self._faults.ctypes.data,
        )
        self._launches = self._addresses.bind(bases)
        residents.shared.add_reader(self)

    @property
    def devices(self) -> tuple[str, ...]:
        """The CPU alone."""
        return ("cpu",)

    @property
    def calls_without_graph(self) -> int:
        """All of them."""
        return self.calls

    @property
    def memory_bytes(self) -> int:
        """The arena and what the weights needed beside the user's own."""
        return self._arena.nbytes + self._residents.bytes

    @property
    def weights(self) -> SharedWeights:
        """Those of the program."""
        return self._residents.shared

    def quick_call(self, binder: Binder) -> QuickCall:
        """Every call goes the long way."""
        return no_quick_call

    def replica(self) -> EmulatedExecutor:
        """Another instance over the same code and weights."""
        return EmulatedExecutor(self._plan, self._module, self._emulated, self._residents, self._log)

    def run(
        self,
        inputs: list[torch.Tensor],
        outputs: list[torch.Tensor] | None = None,
        *,
        is_ready: bool = False,
    ) -> list[torch.Tensor]:
        """The outputs for checked inputs; see `Executor.run`. Whether they are ready is looked up anyway."""
        if outputs is None:
            outputs = [empty(slot.type) for slot in self._plan.outputs]
        placed = [make_direct(tensor.detach()) for tensor in inputs]
        with self._lock:
            self.check()
            self.calls += 1
            self._table[: len(self._addresses.cells)] = self._addresses.cell_pointers(
                addresses_of(placed), addresses_of(outputs), self._counts(placed)
            )
            self._launch_all()
            if self._log.in_call:
                self.check()
        return outputs

    def bind(self, inputs: Sequence[torch.Tensor]) -> RepeatedCall:
        """A call that reads these very tensors; see `Executor.bind`."""
        return RepeatedCall(self.run, self.check, inputs, [empty(slot.type) for slot in self._plan.outputs])

    def check(self) -> None:
        """Raise what earlier calls recorded; see `Executor.check`."""
        with self._lock:
            if not self._news[0]:
                return
            fault = first_fault(self._faults, self._addresses.checking_grids)
            self._faults["count"] = 0
            self._news[0] = 0
            if fault is not None:
                self._log.count(fault)
                raise self._log.error(fault)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """No call runs meanwhile; see `Executor.paused`."""
        with self._lock:
            yield

    def raise_recorded(self) -> None:
        """Every call is over when it returns."""
        self.check()

    def fault_count(self) -> int:
        """Faults in all calls up to now."""
        return self._log.total + fault_count(self._faults)

    def _launch_all(self) -> None:
        if self._emulated is None:
            return
        for launch in self._launches:
            kernel = launch.kernel
            self._emulated.launch(
                kernel.name, kernel.grid, kernel.block, kernel.shared_bytes, launch.pointers
            )


def _aligned_bytes(size: int) -> np.ndarray[Any, Any]:
    """Uninitialised bytes that start where a GPU allocation would."""
    memory = np.empty(max(size, 1) + _ARENA_ALIGNMENT_BYTES, dtype=np.uint8)
    start = -memory.ctypes.data % _ARENA_ALIGNMENT_BYTES
    return memory[start : start + max(size, 1)]
