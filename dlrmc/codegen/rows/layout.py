"""Where the values of a tile live, and in which phase each stage runs.

Every result of a stage that another stage reads lives in shared memory: straight in the operand tile of its first
reader where it fits there, else in a buffer of its own. What does not stand where a reader wants it is copied.
Phases are separated by barriers; buffers that never live in one phase share memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dlrmc.codegen.rows.operand_tiles import OperandTile, Part, home_strides, operand_tiles
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.strided import VIEW_OPS, packed_strides
from dlrmc.ir.types import DType
from dlrmc.schedule.arena import Interval, pack

INPUT_PHASE = -1


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
        shared_bytes: shared memory in all.
    """

    homes: Mapping[Node, Home]
    tiles: Mapping[Node, tuple[PlacedTile, ...]]
    phases: Mapping[Node, int]
    copies: tuple[Copy, ...]
    placed: tuple[PlacedTile, ...]
    buffers: tuple[SharedBuffer, ...]
    shared_bytes: int

    @property
    def phase_count(self) -> int:
        """Number of phases."""
        return 1 + max(self.phases.values())


def lay_out(stages: Graph, rows: int) -> Layout:
    """Plan a tile.

    Args:
        stages: the tile's graph after form-kernels: every kernel is a stage.
        rows: rows of the tile.
    """
    return _Planner(stages, rows).run()


def anchor_of(stage: Node) -> Node:
    """The op that a stage's body is about: what its output shows, views aside."""
    node = stage.body.outputs[0]
    while node.is_op("view") and not stage.attributes.str("impl") == "map":
        node = node.inputs[0]
    return node


class _Planner:
    def __init__(self, stages: Graph, rows: int) -> None:
        self._stages = stages
        self._rows = rows
        self._homes: dict[Node, Home] = {}
        self._tiles: dict[Node, tuple[PlacedTile, ...]] = {}
        self._phases: dict[Node, int] = {}
        self._known: dict[object, PlacedTile] = {}
        self._buffers: list[SharedBuffer] = []

    def run(self) -> Layout:
        kernels = [node for node in self._stages.nodes if node.is_op("kernel")]
        for stage in kernels:
            anchor = anchor_of(stage)
            wanted = operand_tiles(anchor, self._rows) if stage.attributes.str("impl") != "map" else ()
            self._tiles[stage] = tuple(self._place(stage, tile) for tile in wanted)
        for stage in kernels:
            if stage not in self._homes and self._stages.users(stage):
                buffer = self._buffer(stage.name, stage.type.dtype, stage.type.numel)
                self._homes[stage] = Home(buffer, 0, packed_strides(stage.shape))
        for stage in kernels:
            self._phases[stage] = self._schedule(stage)
        self._record_lifetimes(kernels)
        return self._finish()

    def _buffer(self, name: str, dtype: DType, elements: int) -> SharedBuffer:
        buffer = SharedBuffer(f"{name}_tile", dtype, elements)
        self._buffers.append(buffer)
        return buffer

    def _place(self, stage: Node, tile: OperandTile) -> PlacedTile:
        outer = dict(zip(stage.body.inputs, stage.inputs, strict=True))
        key = (tile.strides, tile.elements, *(_key(part, outer) for part in tile.parts))
        if key in self._known:
            return self._known[key]
        name = f"{stage.name}_{tile.role}"
        placed = PlacedTile(tile, self._buffer(name, tile.parts[0].value.type.dtype, tile.elements))
        self._known[key] = placed
        for part in tile.parts:
            if not self._live_in(placed, part, outer):
                placed.copies.append(Copy(stage, part, placed.buffer, 0))
        return placed

    def _live_in(self, placed: PlacedTile, part: Part, outer: Mapping[Node, Node]) -> bool:
        """Let the value behind a part live in the tile, where it is a whole result that has no home yet."""
        root = part.value
        while root.is_op("view"):
            root = root.inputs[0]
        value = outer.get(root)
        if value is None or not value.is_op("kernel") or value in self._homes:
            return False
        strides = home_strides(value, part)
        if strides is None:
            return False
        self._homes[value] = Home(placed.buffer, part.offset, strides)
        return True

    def _schedule(self, stage: Node) -> int:
        """The phase after everything that the stage reads; sets the phases of its copies."""
        outer = dict(zip(stage.body.inputs, stage.inputs, strict=True))
        latest = INPUT_PHASE
        for placed in self._tiles[stage]:
            for copy in placed.copies:
                if copy.stage is stage:
                    sources = [outer[root] for root in _roots(copy.part.value)]
                    copy.phase = 1 + max((self._phase(source) for source in sources), default=INPUT_PHASE)
                latest = max(latest, copy.phase)
        read_in_place = [value for value in stage.inputs if value.is_op("kernel")]
        return 1 + max((latest, *(self._phase(value) for value in read_in_place)))

    def _phase(self, value: Node) -> int:
        return self._phases.get(value, INPUT_PHASE)

    def _record_lifetimes(self, kernels: list[Node]) -> None:
        for stage in kernels:
            phase = self._phases[stage]
            if stage in self._homes:
                self._homes[stage].buffer.touch(phase)
            for placed in self._tiles[stage]:
                placed.buffer.touch(phase)
                if placed.tile.padding:
                    placed.buffer.touch(0)
            for value in stage.inputs:
                if value in self._homes:
                    self._homes[value].buffer.touch(phase)
        for placed in self._known.values():
            for copy in placed.copies:
                placed.buffer.touch(copy.phase)
                outer = dict(zip(copy.stage.body.inputs, copy.stage.inputs, strict=True))
                for root in _roots(copy.part.value):
                    if outer[root] in self._homes:
                        self._homes[outer[root]].buffer.touch(copy.phase)

    def _finish(self) -> Layout:
        live = [buffer for buffer in self._buffers if buffer.last >= buffer.first]
        intervals = [Interval(buffer.size_bytes, buffer.first, buffer.last) for buffer in live]
        offsets, shared_bytes = pack(intervals)
        for buffer, offset_bytes in zip(live, offsets, strict=True):
            buffer.offset_bytes = offset_bytes
        placed = tuple(self._known.values())
        copies = tuple(copy for each in placed for copy in each.copies)
        return Layout(
            self._homes, self._tiles, self._phases, copies, placed, tuple(live), shared_bytes
        )


def _roots(value: Node) -> tuple[Node, ...]:
    """The body inputs that a part is a view of."""
    while value.is_op(*VIEW_OPS):
        value = value.inputs[0]
    return (value,) if value.is_op("input") else ()


def _key(part: Part, outer: Mapping[Node, Node]) -> object:
    """Equal for parts that hold the same elements in the same places."""
    chain: list[object] = []
    value = part.value
    while value.is_op(*VIEW_OPS):
        chain.append((value.op.name, value.attributes))
        value = value.inputs[0]
    return (outer.get(value, value), tuple(chain), part.offset, part.strides)
