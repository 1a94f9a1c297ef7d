"""The stage of embedding bags: every table's bags of the tile's rows, by EmbeddingBag of embedding_bag.cuh."""

from __future__ import annotations

from dlrmc.codegen.kernels.embedding_bag import BagEmission, BagLayout, bags_of, common_pack
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.sizes import Constant, power_of_two_at_least
from dlrmc.codegen.kernels.tile_text import indented, offset_by
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tile_windows import TileWindows
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
    emission = BagEmission(
        f"{context.name}_{stage.name}", places.signature, windows, context.sites, y, layout
    )
    kinds: dict[tuple[tuple[str, Constant], ...], int] = {}
    numbers = [kinds.setdefault(tuple(emission.kind(bags).items()), len(kinds)) for bags in tables]
    structs = [line for kind, number in kinds.items() for line in emission.struct(dict(kind), number)]
    per_row = entries // places.tile.rows
    count = "rows" if per_row == 1 else f"rows * {per_row}"
    items = len(tables) * entries * lanes
    bag = "row" if per_row == 0 else offset_by("row", ("first_row", per_row))
    terms = [("row", y.strides[0]), ("column", y.strides[-1])]
    if len(y.strides) == 3:
        terms.insert(1, ("table", y.strides[1]))
    body = [
        f"const int table = item / {entries * lanes};",
        f"const int row = item / {lanes} % {entries};",
        f"const int column = item % {lanes} * {pack};",
        f"if (row >= {count} || column >= {columns}) continue;",
        *emission.source(tables, numbers),
        f"const long long bag = {bag};",
        f"{y.element}* const y = {offset_by(y.start, *terms)};",
        *emission.run(len(kinds), places.tile.batch * per_row),
    ]
    head = f"for (int item = thread; item < {items}; item += {context.threads}) {{"
    return StageText(structs, [head, *indented(body), "}"], ("embedding_bag.cuh",), -(-items // WARP_LANES))
