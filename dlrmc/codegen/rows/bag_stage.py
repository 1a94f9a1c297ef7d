"""The stage of embedding bags: every table's bags of the tile's rows.

Tables of one kind are shared out to warps (WarpBags of warp_bags.cuh), others to threads (EmbeddingBag).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlrmc.codegen.kernels.embedding_bag import BagEmission, BagLayout, common_pack
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.sizes import Constant, power_of_two_at_least
from dlrmc.codegen.kernels.tile_text import indented, offset_by
from dlrmc.codegen.kernels.windows import Window
from dlrmc.codegen.rows.bag_sources import source_numbers, source_places, write_sources
from dlrmc.codegen.rows.bag_unit import BagUnit, choose_bag_unit
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.ir.bag_tables import Bags, bags_of
from dlrmc.ir.graph import Node


def emit_bag_stage(stage: Node, anchor: Node, context: StageContext) -> StageText:
    """The text of one stage of bags. Ids and offsets are read by the row's number in the batch."""
    places = context.places
    tables = bags_of(anchor)
    windows = TileWindows(places, stage, reads_whole=True)
    y = windows.result(anchor)
    pack = common_pack(tables, y, windows)
    columns, entries = anchor.shape[-1], anchor.shape[0]
    lanes = power_of_two_at_least(-(-columns // pack))
    layout = BagLayout(pack, lanes, 1, context.threads, 1)
    name = f"{context.name}_{stage.name}"
    emission = BagEmission(name, places.signature, windows, context.sites, y, layout)
    per_row = entries // places.tile.rows
    bags = places.tile.batch * per_row
    sources = context.layout.scratch.get(stage)
    is_one_kind = len({tuple((emission.kind(each) | {"IN_FLIGHT": 1}).items()) for each in tables}) == 1
    length = bag_length(tables, bags)
    unit = choose_bag_unit((len(tables), entries), columns // pack, length, context.threads)
    if sources is not None and unit is not None and is_one_kind:
        kind = emission.kind(tables[0]) | unit.constants
        numbers = source_numbers(f"{name}_numbers", tables, windows, context.sites, bags)
        structs = emission.struct(kind, 0) + numbers + source_places(f"{name}_places", tables, windows)
        names = f"{name}_numbers", f"{name}_places"
        prologue = write_sources(sources.name, names, tables, windows, unit)
        early, statements = _warp_statements(name, sources.name, unit, (per_row, bags), y, context)
        row_bytes = columns * tables[0].table.type.dtype.size_bytes
        rows_bytes = len(tables) * entries * min(length, unit.at_once) * row_bytes
        return StageText(structs, statements, ("warp_bags.cuh",), unit.warps, prologue, early, rows_bytes)
    kinds: dict[tuple[tuple[str, Constant], ...], int] = {}
    numbers = [kinds.setdefault(tuple(emission.kind(each).items()), len(kinds)) for each in tables]
    structs = [line for kind, number in kinds.items() for line in emission.struct(dict(kind), number)]
    items = len(tables) * entries * lanes
    loop = _loop(y, (items, entries, lanes, pack), context, per_row)
    statements = _one_by_one(loop, emission.source(tables, numbers), emission.run(len(kinds), bags), y)
    return StageText(structs, statements, ("embedding_bag.cuh",), -(-items // WARP_LANES))


def _loop(y: Window, sizes: tuple[int, int, int, int], context: StageContext, per_row: int) -> _Loop:
    """`sizes`: items, rows of the tile, lanes of a bag, columns of a lane."""
    items, entries, lanes, pack = sizes
    count = "rows" if per_row == 1 else f"rows * {per_row}"
    terms = [("row", y.strides[0]), ("column", y.strides[-1])]
    place = [
        f"const int row = item / {lanes} % {entries};",
        f"const int column = item % {lanes} * {pack};",
    ]
    if len(y.strides) == 3:
        terms.insert(1, ("table", y.strides[1]))
        place.insert(0, f"const int table = item / {entries * lanes};")
    return _Loop(
        items,
        context.threads,
        place,
        f"row < {count} && column < {y.shape[-1]}",
        offset_by("row", ("first_row", per_row)),
        offset_by(y.start, *terms),
    )


@dataclass(frozen=True, slots=True)
class _Loop:
    """The loop over the bags of all tables and rows: how an item's place is found from its number."""

    items: int
    threads: int
    place: list[str]
    is_inside: str
    bag: str
    to: str


def _one_by_one(loop: _Loop, source: list[str], run: list[str], y: Window) -> list[str]:
    body = [
        *loop.place,
        f"if (!({loop.is_inside})) continue;",
        *source,
        f"const long long bag = {loop.bag};",
        f"{y.element}* const y = {loop.to};",
        *run,
    ]
    head = f"for (int item = thread; item < {loop.items}; item += {loop.threads}) {{"
    return [head, *indented(body), "}"]


def _warp_statements(
    name: str, sources: str, unit: BagUnit, sizes: tuple[int, int], y: Window, context: StageContext
) -> tuple[list[str], list[str]]:
    """The statements that ask for the first rows, and those that add and write them.

    `sizes`: bags of one table and a row, and of one table in all.
    """
    per_row, bags = sizes
    count = "rows" if per_row == 1 else f"rows * {per_row}"
    pointer = f"reinterpret_cast<const BagSource*>({sources})"
    strides = (y.strides[0], y.strides[1] if len(y.strides) == 3 else 0, y.strides[-1])
    view = f"TileView<{y.element}, {', '.join(map(str, strides))}>{{{y.start}}}"
    work = f"{name}_work"
    first = f"threadIdx.x % {context.threads} / {WARP_LANES} * {unit.units_of_warp}"
    first_bag = offset_by("0", ("first_row", per_row))
    begin = f"{work}.begin({pointer}, unit, {first_bag}, {count}, {bags}, faults);"
    finish = f"{work}.finish({pointer}, unit, {count}, {view}, faults);"
    early = [
        f"WarpBags<{name}_kind_0> {work};",
        f"if (const int unit = {first}; unit < {unit.units}) {begin}",
    ]
    if unit.units_of_warp == 1:
        return early, [f"if (const int unit = {first}; unit < {unit.units}) {finish}"]
    body = [f"if (unit != {first}) {begin}", finish]
    end = f"min({first} + {unit.units_of_warp}, {unit.units})"
    loop = ["#pragma unroll 1", f"for (int unit = {first}; unit < {end}; ++unit) {{"]
    return early, [*loop, *indented(body), "}"]


def bag_length(tables: Sequence[Bags], bag_count: int) -> int:
    """What a bag holds on average, rounded up."""
    lengths = [
        bags.ids.shape[-1] if bags.offsets is None else bags.ids.type.numel / bag_count for bags in tables
    ]
    return max(1, math.ceil(sum(lengths) / len(lengths)))
