"""The stage of bags over a table of bytes or nibbles, by QuantizedBag of quantized_bag.cuh."""

from __future__ import annotations

from dlrmc.codegen.kernels.embedding_bag import BagLayout
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.quantized_bag import (
    INCLUDE,
    QuantizedEmission,
    codes_of_a_lane,
    quantized_bags_of,
)
from dlrmc.codegen.kernels.sizes import power_of_two_at_least
from dlrmc.codegen.kernels.tile_text import indented, offset_by
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.ir.graph import Node


def emit_quantized_stage(stage: Node, anchor: Node, context: StageContext) -> StageText:
    """The text of one stage. Ids and offsets are read by the row's number in the batch."""
    places, bags = context.places, quantized_bags_of(anchor)
    windows = TileWindows(places, stage, reads_whole=True)
    y = windows.result(anchor)
    pack = codes_of_a_lane(anchor)
    entries, columns = anchor.shape
    lanes = power_of_two_at_least(-(-columns // pack))
    emission = QuantizedEmission(
        f"{context.name}_{stage.name}",
        places.signature,
        windows,
        context.sites,
        y,
        BagLayout(pack, lanes, 1, context.threads, 1),
        anchor.attributes.int("bits"),
    )
    per_row = entries // places.tile.rows
    items = entries * lanes
    body = [
        f"const int row = item / {lanes};",
        f"const int column = item % {lanes} * {pack};",
        f"if (row >= rows * {per_row} || column >= {columns}) continue;",
        f"const long long bag = {offset_by('row', ('first_row', per_row))};",
        f"{y.element}* const y = {offset_by(y.start, ('row', y.strides[0]), ('column', y.strides[1]))};",
        *emission.run(1, places.tile.batch * per_row),
    ]
    statements = [
        *emission.source((bags,), [0]),
        f"for (int item = thread; item < {items}; item += {context.threads}) {{",
        *indented(body),
        "}",
    ]
    structs = emission.struct(emission.kind(bags), 0)
    return StageText(structs, statements, (INCLUDE,), -(-items // WARP_LANES))
