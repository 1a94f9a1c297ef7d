"""The stage of embedding bags: every table's bags of the tile's rows (EmbeddingBag of embedding_bag.cuh)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlrmc.codegen.kernels.embedding_bag import BagEmission, BagLayout, common_pack
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.sizes import Constant, power_of_two_at_least
from dlrmc.codegen.kernels.tile_text import indented, offset_by
from dlrmc.codegen.kernels.windows import Window
from dlrmc.codegen.rows.bag_sources import source_numbers, write_sources
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.ir.bag_tables import Bags, bags_of
from dlrmc.ir.graph import Node

# Rows of all bags of a thread that are on their way at once; each takes four registers.
LARGEST_HEAD = 8


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
    head_rows = _head_rows(tables, bags)
    in_flight = power_of_two_at_least(head_rows)
    kinds: dict[tuple[tuple[str, Constant], ...], int] = {}
    numbers = [
        kinds.setdefault(tuple((emission.kind(each) | {"IN_FLIGHT": in_flight}).items()), len(kinds))
        for each in tables
    ]
    structs = [line for kind, number in kinds.items() for line in emission.struct(dict(kind), number)]
    items = len(tables) * entries * lanes
    loop = _loop(y, (items, entries, lanes, pack), context, per_row)
    warps = -(-items // WARP_LANES)
    includes = ("embedding_bag.cuh",)
    sources = context.layout.scratch.get(stage)
    if sources is None or len(kinds) > 1:
        statements = _one_by_one(loop, emission.source(tables, numbers), emission.run(len(kinds), bags), y)
        return StageText(structs, statements, includes, warps)
    structs += source_numbers(f"{name}_numbers", tables, windows, context.sites)
    prologue = write_sources(sources.name, f"{name}_numbers", tables, windows, context.threads)
    together = max(1, min(-(-items // context.threads), LARGEST_HEAD // head_rows))
    function = f"EmbeddingBag<{name}_kind_0>::run_many<{together}, {head_rows}>"
    statements = _many(loop, sources.name, function, (together, bags), y.element)
    return StageText(structs, statements, includes, warps, prologue)


def _loop(y: Window, sizes: tuple[int, int, int, int], context: StageContext, per_row: int) -> _Loop:
    """`sizes`: items, rows of the tile, lanes of a bag, columns of a lane."""
    items, entries, lanes, pack = sizes
    count = "rows" if per_row == 1 else f"rows * {per_row}"
    terms = [("row", y.strides[0]), ("column", y.strides[-1])]
    if len(y.strides) == 3:
        terms.insert(1, ("table", y.strides[1]))
    return _Loop(
        items,
        context.threads,
        [
            f"const int table = item / {entries * lanes};",
            f"const int row = item / {lanes} % {entries};",
            f"const int column = item % {lanes} * {pack};",
        ],
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


def _many(loop: _Loop, sources: str, function: str, sizes: tuple[int, int], element: str) -> list[str]:
    """Several bags a thread at once, so that their loads overlap. `sizes`: how many, and bags in all."""
    together, bag_count = sizes
    find = [
        f"const int item = first + i * {loop.threads};",
        *loop.place,
        f"is_used[i] = item < {loop.items} && {loop.is_inside};",
        f"table_sources[i] = reinterpret_cast<const BagSource*>({sources}) + (is_used[i] ? table : 0);",
        f"bags[i] = {loop.bag};",
        f"y[i] = {loop.to};",
        "first_column = column;",
    ]
    body = [
        f"const BagSource* table_sources[{together}];",
        f"long long bags[{together}];",
        f"bool is_used[{together}];",
        f"{element}* y[{together}];",
        "int first_column = 0;",
        "#pragma unroll",
        f"for (int i = 0; i < {together}; ++i) {{",
        *indented(find),
        "}",
        f"{function}(table_sources, bags, is_used, y, {bag_count}, first_column, first_column == 0, faults);",
    ]
    head = f"for (int first = thread; first < {loop.items}; first += {loop.threads * together}) {{"
    return ["#pragma unroll 1", head, *indented(body), "}"]


def _head_rows(tables: Sequence[Bags], bag_count: int) -> int:
    """How many rows of a bag are loaded before one is added: what a bag holds on average, up to 4."""
    lengths = [
        bags.ids.shape[-1] if bags.offsets is None else bags.ids.type.numel / bag_count for bags in tables
    ]
    return min(4, max(1, math.ceil(sum(lengths) / len(lengths))))
