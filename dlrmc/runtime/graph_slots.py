"""A few instances of a program's CUDA graph, each with a pointer table of its own.

Outputs are fresh tensors, so their addresses change from call to call, but a caller who drops old results
gets the same few addresses again and again from torch's allocator. With a table for each of the last few sets
of output addresses a call with known inputs is one graph launch and writes nothing.
"""

from __future__ import annotations

from typing import Any

import torch

from dlrmc.runtime.counted_inputs import CountedInputs
from dlrmc.runtime.cuda_program import CudaProgram
from dlrmc.runtime.torch_internals import address_comparer


class GraphSlot:
    """One pointer table and the graph whose kernels read it.

    Attributes:
        handle: of the executable graph; 0 where the program launches nothing.
        inputs: the addresses of the inputs that the table holds; None where it holds nothing yet.
        counts: likewise the numbers of elements of the counted inputs.
    """

    def __init__(self, program: CudaProgram, arena: torch.Tensor, faults: int) -> None:
        self.table = program.new_table()
        self.inputs: list[int] | None = None
        self.counts: list[int] = []
        launches = program.launches(arena, self.table, faults)
        self._graph: Any = program.driver.make_graph(launches) if launches else None
        self.handle: int = self._graph.handle if launches else 0


class GraphSlots:
    """The slots of one executor, found by the addresses of the outputs; the oldest makes way for a new set.

    Args:
        program: what runs.
        arena: that all slots share: calls run one after the other.
        faults: address of the fault records.
        count: how many slots.
    """

    def __init__(self, program: CudaProgram, arena: torch.Tensor, faults: int, count: int) -> None:
        self._cells = program.addresses.cell_pointers
        self._same = address_comparer(len(program.plan.inputs))
        self._are_counted = bool(program.plan.counted)
        self._counts = CountedInputs(program.plan.counted).counts
        made = [GraphSlot(program, arena, faults) for _ in range(count)]
        self._by_outputs: dict[tuple[int, ...], GraphSlot] = {(-n,): slot for n, slot in enumerate(made, 1)}

    def find(self, inputs: list[torch.Tensor], outputs: tuple[int, ...]) -> GraphSlot | None:
        """The slot whose table holds these addresses."""
        slot = self._by_outputs.get(outputs)
        if slot is None or slot.inputs is None or not self._same(inputs, slot.inputs):
            return None
        return slot if not self._are_counted or slot.counts == self._counts(inputs) else None

    def write(
        self, inputs: list[torch.Tensor], addresses: list[int], outputs: tuple[int, ...], stream: int
    ) -> GraphSlot:
        """A slot whose table holds these addresses for what comes next on the stream.

        Args:
            inputs: of the call, as kernels read them.
            addresses: theirs.
            outputs: addresses of the outputs.
            stream: where the call will run.
        """
        counts = self._counts(inputs)
        slots = self._by_outputs
        slot = slots.pop(outputs) if outputs in slots else slots.pop(next(iter(slots)))
        slots[outputs] = slot
        slot.inputs = None  # unknown, should the write fail
        slot.table.write(self._cells(addresses, outputs, counts), stream)
        slot.inputs, slot.counts = addresses, counts
        return slot
