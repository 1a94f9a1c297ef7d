"""The plan of one request: which kernels run in which order on which buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dlrmc.ir.graph import Node
from dlrmc.ir.types import TensorType

BufferKind = Literal["input", "resident", "arena", "output", "count"]


@dataclass(frozen=True, slots=True)
class BufferRef:
    """Where the data of one kernel argument lives.

    Args:
        kind: an input or output of the call, a resident (weight, constant or derived value), or the arena;
            or the number of elements of an input, which is no buffer of a kernel's but a cell of the runtime.
        index: the place in Plan.inputs, Plan.outputs or Plan.residents; 0 for the arena.
        offset_bytes: where the data starts in that buffer.
        has_count: whether the number of elements comes with the call: it stands behind the pointer's slot.
    """

    kind: BufferKind
    index: int
    offset_bytes: int = 0
    has_count: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel node with its buffers: the operands in order, then the results."""

    kernel: Node
    operands: tuple[BufferRef, ...]
    results: tuple[BufferRef, ...]
    operand_strides: tuple[tuple[int, ...], ...]
    result_strides: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """Name and type of one input or output of a call."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything the executor needs besides the compiled code.

    Args:
        launches: in order of execution.
        residents: weight, const and derive nodes that live on the device between calls.
        inputs: the call's tensors, in signature order.
        outputs: the tensors a call returns, each written by a launch (an empty one by none).
        arena_bytes: size of the one buffer that holds all intermediates.
        counted: the numbers of the inputs whose number of elements comes with the call.
    """

    launches: tuple[Launch, ...]
    residents: tuple[Node, ...]
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    arena_bytes: int
    counted: tuple[int, ...] = ()
