"""A few instances of a program's CUDA graph, each with a pointer table of its own.

Outputs are fresh tensors, so their addresses change from call to call, but a caller who drops old results
gets the same few addresses again and again from torch's allocator. With a table for each of the last few sets
of output addresses a call with known inputs is one graph launch and writes nothing.
"""

from __future__ import annotations

import struct
from typing import Any

import torch

from dlrmc.runtime.address_reader import AddressReader, make_address_reader
from dlrmc.runtime.counted_inputs import CountedInputs
from dlrmc.runtime.cuda_program import CudaProgram
from dlrmc.runtime.tensors import ALIGNMENT_BYTES


class GraphSlot:
    """One pointer table and the graph whose kernels read it.

    Attributes:
        handle: of the executable graph; 0 where the program launches nothing.
        inputs: what `GraphSlots.read` says of the inputs that the table holds; None where it holds none yet.
    """

    def __init__(self, program: CudaProgram, arena: torch.Tensor, faults: int) -> None:
        self.table = program.new_table()
        self.inputs: bytes | None = None
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

    Attributes:
        read: what a table must hold of the tensors of a call, a tuple, as 64-bit words: their addresses, then
            the numbers of elements of the counted ones. One thread at a time.
    """

    def __init__(self, program: CudaProgram, arena: torch.Tensor, faults: int, count: int) -> None:
        inputs, counted = len(program.plan.inputs), program.plan.counted
        self._cells = program.addresses.cell_pointers
        self._input_count = inputs
        self._words = struct.Struct(f"={inputs + len(counted)}Q")
        self._misaligned = int.from_bytes(
            self._words.pack(*[ALIGNMENT_BYTES - 1] * inputs, *[0] * len(counted))
        )
        self._addresses = make_address_reader(inputs, program.cache_dir)
        self._counts = CountedInputs(counted).counts
        self._pack_counts = struct.Struct(f"={len(counted)}Q").pack
        self.read: AddressReader = self._read_counted if counted else self._addresses
        made = [GraphSlot(program, arena, faults) for _ in range(count)]
        self._by_outputs: dict[tuple[int, ...], GraphSlot] = {(-n,): slot for n, slot in enumerate(made, 1)}

    def _read_counted(self, inputs: tuple[torch.Tensor, ...]) -> bytes:
        return self._addresses(inputs) + self._pack_counts(*self._counts(inputs))

    def is_aligned(self, inputs: bytes) -> bool:
        """Whether kernels can read all these inputs, as `read`, where they lie."""
        return not int.from_bytes(inputs) & self._misaligned

    def find(self, inputs: bytes, outputs: tuple[int, ...]) -> GraphSlot | None:
        """The slot whose table holds these inputs, as `read`, and addresses of outputs."""
        slot = self._by_outputs.get(outputs)
        return slot if slot is not None and slot.inputs == inputs else None

    def write(self, inputs: bytes, outputs: tuple[int, ...], stream: int) -> GraphSlot:
        """A slot whose table holds these inputs and outputs for what comes next on the stream."""
        slots = self._by_outputs
        slot = slots.pop(outputs) if outputs in slots else slots.pop(next(iter(slots)))
        slots[outputs] = slot
        slot.inputs = None  # unknown, should the write fail
        words = self._words.unpack(inputs)
        addresses, counts = words[: self._input_count], words[self._input_count :]
        slot.table.write(self._cells(addresses, outputs, counts), stream)
        slot.inputs = inputs
        return slot
