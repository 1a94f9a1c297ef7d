"""Makes the plan of a tile: homes, operand tiles, phases, lifetimes, weights to keep in shared memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from dlrmc.codegen.rows.bag_sources import SOURCE_ELEMENTS, has_sources
from dlrmc.codegen.rows.bag_unit import most_sources, table_unit
from dlrmc.codegen.rows.layout import Copy, Home, Layout, PlacedTile, SharedBuffer, anchor_of
from dlrmc.codegen.rows.operand_tiles import (
    REORDERING_VIEWS,
    OperandTile,
    Part,
    home_strides,
    operand_tiles,
    uses_tensor_cores,
)
from dlrmc.codegen.rows.tensor_tile import choose_tensor_tile
from dlrmc.codegen.rows.weight_tiles import weight_shape
from dlrmc.ir.bag_tables import BAG_GROUP_OPS, bags_of
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.strided import packed_strides, reshape_strides, under_views, views_on
from dlrmc.ir.types import DType
from dlrmc.schedule.arena import Interval, pack

INPUT_PHASE = -1
# Stages that read their operands where they are.
READ_IN_PLACE = ("map", "attention")
# Fewer bags of fewer tables are read soonest by threads that have the pointers in their code.
FEWEST_TABLES = 3
FEWEST_BAGS = 16


def lay_out(
    stages: Graph,
    indirect: frozenset[Node],
    threads: int,
    limit_bytes: int,
    *,
    is_persistent: bool,
    slices_k: bool = True,
) -> Layout:
    """Plan a tile.

    Args:
        stages: the tile's graph after form-kernels: every kernel is a stage.
        indirect: the inputs of the tile that are reached through slots.
        threads: of a block.
        limit_bytes: of shared memory, for weights to stay under; the tile itself may need more.
        is_persistent: whether a block works on several tiles, so that weights must outlive one.
        slices_k: whether layers on tensor cores may slice k, for which their sums need memory.
    """
    return _Planner(stages, indirect, threads, limit_bytes, is_persistent, slices_k).run()


class _Planner:
    def __init__(
        self,
        stages: Graph,
        indirect: frozenset[Node],
        threads: int,
        limit_bytes: int,
        is_persistent: bool,
        slices_k: bool,
    ) -> None:
        self._stages = stages
        self._indirect = indirect
        self._threads = threads
        self._limit_bytes = limit_bytes
        self._is_persistent = is_persistent
        self._slices_k = slices_k
        self._homes: dict[Node, Home] = {}
        self._tiles: dict[Node, tuple[PlacedTile, ...]] = {}
        self._phases: dict[Node, int] = {}
        self._known: dict[object, PlacedTile] = {}
        self._buffers: list[SharedBuffer] = []

    def run(self) -> Layout:
        kernels = [node for node in self._stages.nodes if node.is_op("kernel")]
        for stage in kernels:
            anchor = anchor_of(stage)
            wanted = () if stage.attributes.str("impl") in READ_IN_PLACE else operand_tiles(anchor)
            self._tiles[stage] = tuple(self._place(stage, tile) for tile in wanted)
        for stage in kernels:
            if stage not in self._homes and self._stages.users(stage):
                buffer = self._buffer(stage.name, stage.type.dtype, stage.type.numel)
                self._homes[stage] = Home(buffer, 0, packed_strides(stage.shape))
        for stage in kernels:
            self._phases[stage] = self._schedule(stage)
        self._delay_bags(kernels)
        self._record_lifetimes(kernels)
        return self._finish(kernels)

    def _buffer(self, name: str, dtype: DType, elements: int) -> SharedBuffer:
        buffer = SharedBuffer(f"{name}_tile", dtype, elements)
        self._buffers.append(buffer)
        return buffer

    def _place(self, stage: Node, tile: OperandTile) -> PlacedTile:
        outer = stage.outer
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
        while root.is_op(*REORDERING_VIEWS):
            root = root.inputs[0]
        value = outer.get(root)
        if value is None or not value.is_op("kernel") or value in self._homes:
            return False
        strides = home_strides(value, part)
        if strides is None or not _can_write(value, strides):
            return False
        self._homes[value] = Home(placed.buffer, part.offset, strides)
        return True

    def _schedule(self, stage: Node) -> int:
        """The phase after everything that the stage reads; sets the phases of its copies."""
        latest = INPUT_PHASE
        for placed in self._tiles[stage]:
            for copy in placed.copies:
                if copy.stage is stage:
                    phases = (self._phase(source) for source in _sources(copy))
                    copy.phase = 1 + max(phases, default=INPUT_PHASE)
                latest = max(latest, copy.phase)
        read_in_place = [value for value in stage.inputs if value.is_op("kernel")]
        return 1 + max((latest, *(self._phase(value) for value in read_in_place)))

    def _delay_bags(self, kernels: Sequence[Node]) -> None:
        """Bags ask for their rows at the begin of the tile, and add them right before a reader's phase."""
        for stage in kernels:
            anchor = anchor_of(stage)
            is_warps = anchor.is_op("embedding_bag_group") and self._has_sources(stage)
            if not is_warps or self._phases[stage] != 0:
                continue
            readers = [self._phases[user] for user in self._stages.users(stage) if user.is_op("kernel")]
            copies = [
                copy.phase
                for placed in self._known.values()
                for copy in placed.copies
                if stage in _sources(copy)
            ]
            self._phases[stage] = max(0, min((*readers, *copies), default=1) - 1)

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
            # A stage with operand tiles reads these alone.
            for value in () if self._tiles[stage] else stage.inputs:
                if value in self._homes:
                    self._homes[value].buffer.touch(phase)
        for placed in self._known.values():
            for copy in placed.copies:
                placed.buffer.touch(copy.phase)
                for source in _sources(copy):
                    if source in self._homes:
                        self._homes[source].buffer.touch(copy.phase)

    def _finish(self, kernels: Sequence[Node]) -> Layout:
        scratch = self._scratch(kernels)
        live = [buffer for buffer in (*self._buffers, *scratch.values()) if buffer.last >= buffer.first]
        last_phase = max(self._phases.values())
        barriers = SharedBuffer("copy_barriers", DType.I64, last_phase + 1, 0, last_phase)
        weights = self._choose_weights(kernels, [*live, barriers])
        buffers = (*live, *weights.values(), *([barriers] if weights else []))
        offsets, shared_bytes = _pack(buffers)
        for buffer, offset_bytes in zip(buffers, offsets, strict=True):
            buffer.offset_bytes = offset_bytes
        placed = tuple(self._known.values())
        return Layout(
            homes=self._homes,
            tiles=self._tiles,
            phases=self._phases,
            copies=tuple(copy for each in placed for copy in each.copies),
            placed=placed,
            weights=weights,
            scratch=scratch,
            slices_k=self._slices_k,
            copy_barriers=barriers,
            buffers=buffers,
            shared_bytes=shared_bytes,
        )

    def _scratch(self, kernels: Sequence[Node]) -> dict[Node, SharedBuffer]:
        found: dict[Node, SharedBuffer] = {}
        last_phase = max(self._phases.values())
        for stage in kernels:
            anchor = anchor_of(stage)
            if anchor.is_op(*BAG_GROUP_OPS) and self._has_sources(stage):
                elements = self._source_count(anchor) * SOURCE_ELEMENTS
                found[stage] = SharedBuffer(f"{stage.name}_sources", DType.F32, elements, first=0)
                found[stage].touch(last_phase if self._is_persistent else self._phases[stage])
            if not anchor.is_op("linear") or not uses_tensor_cores(anchor):
                continue
            elements = choose_tensor_tile(anchor, self._threads, self._slices_k).scratch_elements
            if elements:
                found[stage] = SharedBuffer(f"{stage.name}_sums", DType.F32, elements)
                found[stage].touch(self._phases[stage])
        return found

    def _has_sources(self, stage: Node) -> bool:
        anchor = anchor_of(stage)
        tables, entries = bags_of(anchor), anchor.shape[0]
        is_small = len(tables) < FEWEST_TABLES and len(tables) * entries < FEWEST_BAGS
        return not is_small and has_sources(tables, self._indirect_in(stage))

    def _source_count(self, anchor: Node) -> int:
        tables, (entries, *_, columns) = len(bags_of(anchor)), anchor.shape
        if anchor.is_op("embedding_bag_group"):
            return most_sources((tables, entries), columns, self._threads)
        unit = table_unit(tables, self._threads)
        return unit.warps * unit.sources

    def _indirect_in(self, stage: Node) -> Callable[[Node], bool]:
        """Tells of an input of the stage's body whether it is reached through a slot."""
        outer = stage.outer
        return lambda node: outer[node] in self._indirect

    def _choose_weights(
        self, kernels: Sequence[Node], live: Sequence[SharedBuffer]
    ) -> dict[Node, SharedBuffer]:
        """The weights that fit beside everything else, large ones first."""
        last_phase = max(self._phases.values())
        candidates: list[tuple[Node, SharedBuffer]] = []
        for stage in kernels:
            anchor = anchor_of(stage)
            if anchor.is_op("linear") and anchor.type.dtype is DType.F32:
                buffer = SharedBuffer(f"{stage.name}_w", DType.F32, weight_shape(anchor).elements, first=0)
                buffer.touch(last_phase if self._is_persistent else self._phases[stage])
                candidates.append((stage, buffer))
        candidates.sort(key=lambda candidate: -candidate[1].size_bytes)
        chosen: list[tuple[Node, SharedBuffer]] = []
        for candidate in candidates:
            wanted = [*live, *(buffer for _, buffer in chosen), candidate[1]]
            if _pack(wanted)[1] <= self._limit_bytes:
                chosen.append(candidate)
        return dict(chosen)


def _can_write(stage: Node, strides: tuple[int, ...]) -> bool:
    """Whether the stage can write its value at these strides: as its anchor shows it, a product by rows."""
    if stage.attributes.str("impl") in READ_IN_PLACE:
        return True
    anchor = anchor_of(stage)
    shown = reshape_strides(stage.shape, strides, anchor.shape)
    if shown is None or not anchor.is_op("linear"):
        return shown is not None
    rows = math.prod(anchor.shape[:-1])
    return reshape_strides(anchor.shape[:-1], shown[:-1], (rows,)) is not None


def _pack(buffers: Sequence[SharedBuffer]) -> tuple[tuple[int, ...], int]:
    return pack([Interval(buffer.size_bytes, buffer.first, buffer.last) for buffer in buffers])


def _roots(value: Node) -> tuple[Node, ...]:
    """The body inputs that a part is a view of."""
    value = under_views(value)
    return (value,) if value.is_op("input") else ()


def _sources(copy: Copy) -> list[Node]:
    """The values of the program that a copy reads."""
    outer = copy.stage.outer
    return [outer[root] for root in _roots(copy.part.value)]


def _key(part: Part, outer: Mapping[Node, Node]) -> object:
    """Equal for parts that hold the same elements in the same places."""
    chain = tuple((view.op.name, view.attributes) for view in views_on(part.value))
    value = under_views(part.value)
    return (outer.get(value, value), chain, part.offset, part.strides)
