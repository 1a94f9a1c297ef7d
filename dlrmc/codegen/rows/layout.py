"""Where the values of a tile live, and in which phase each stage runs.

Every result of a stage that another stage reads lives in shared memory: straight in the operand tile of its
first reader where it fits there, else in a buffer of its own. What does not stand where a reader wants it is
copied.
Phases are separated by barriers; buffers that never live in one phase share memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dlrmc.codegen.rows.operand_tiles import OperandTile, Part
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


@dataclass(eq=False, slots=True)
class SharedBuffer:
    """A buffer in shared memory, live from `first` to `last` phase."""

    name: str
    dtype: DType
    elements: int
    first: int = 1 << 30
    last: int = 0
    offset_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        """Bytes."""
        return self.elements * self.dtype.size_bytes

    def touch(self, phase: int) -> None:
        """Some stage of the phase writes or reads it."""
        self.first, self.last = min(self.first, phase), max(self.last, phase)


@dataclass(frozen=True, slots=True)
class Home:
    """Element (i, j, ...) of a value stands at `buffer[offset + i*strides[0] + ...]`."""

    buffer: SharedBuffer
    offset: int
    strides: tuple[int, ...]


@dataclass(eq=False, slots=True)
class Copy:
    """Part of an operand tile that is copied from where its value lives, in a phase before the reader's."""

    stage: Node
    part: Part
    buffer: SharedBuffer
    phase: int


@dataclass(eq=False, slots=True)
class PlacedTile:
    """An operand tile and its buffer; stages with equal tiles share one."""

    tile: OperandTile
    buffer: SharedBuffer
    copies: list[Copy] = field(default_factory=list[Copy])


@dataclass(frozen=True)
class Layout:
    """The whole plan of a tile.

    Args:
        homes: the results of stages that live in shared memory.
        tiles: the operand tiles of each stage, in the order of operand_tiles.
        phases: the phase of each stage.
        copies: all copies.
        placed: all operand tiles, shared ones once.
        weights: the buffers of the weights that are copied into shared memory, by stage.
        scratch: the buffers of stages that need one for themselves.
        slices_k: whether layers on tensor cores may share the k of a result.
        copy_barriers: one of 8 bytes for each phase, for bulk copies of the weights that it reads.
        buffers: all buffers.
        shared_bytes: shared memory in all.
    """

    homes: Mapping[Node, Home]
    tiles: Mapping[Node, tuple[PlacedTile, ...]]
    phases: Mapping[Node, int]
    copies: tuple[Copy, ...]
    placed: tuple[PlacedTile, ...]
    weights: Mapping[Node, SharedBuffer]
    scratch: Mapping[Node, SharedBuffer]
    slices_k: bool
    copy_barriers: SharedBuffer
    buffers: tuple[SharedBuffer, ...]
    shared_bytes: int

    @property
    def phase_count(self) -> int:
        """Number of phases."""
        return 1 + max(self.phases.values())


def anchor_of(stage: Node) -> Node:
    """The op that a stage's body is about: what its output shows, views aside."""
    node = stage.body.outputs[0]
    while node.is_op("view") and stage.attributes.str("impl") != "map":
        node = node.inputs[0]
    return node
