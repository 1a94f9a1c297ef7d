"""The stages of `pairwise_dot` and `bmm`: blocks of dot products of vectors in shared memory."""

from __future__ import annotations

from collections.abc import Callable

from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.sizes import constants_struct, round_up
from dlrmc.codegen.kernels.tile_text import call
from dlrmc.codegen.kernels.windows import tile_view
from dlrmc.codegen.rows.layout import PlacedTile
from dlrmc.codegen.rows.operand_tiles import (
    PACK,
    TENSOR_DEPTH,
    feature_count,
    pairs_on_tensor_cores,
)
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.ir.graph import Node
from dlrmc.ir.op import many, one

BLOCKS = (4, 2, 1)


def emit_pairwise_stage(stage: Node, anchor: Node, x: PlacedTile, context: StageContext) -> StageText:
    """The text of one pairwise_dot stage."""
    z = TileWindows(context.places, stage).result(anchor)
    pairs, features = anchor.attributes.str("pairs"), feature_count(many(anchor.operands[0]))
    rows = context.places.tile.rows

    def items(block: int) -> int:
        side = -(-features // block)
        return rows * side * (side + 1) // 2

    is_tensor = pairs_on_tensor_cores(anchor)
    block = 1 if is_tensor else _block(items, context.threads)
    name = f"{context.name}_{stage.name}"
    depth = many(anchor.operands[0])[0].shape[-1]
    struct = constants_struct(
        f"{name}_sizes",
        {"Element": STORAGE_TYPES[anchor.type.dtype]},
        {
            "F": features,
            "D_PADDED": round_up(depth, TENSOR_DEPTH if is_tensor else PACK),
            "X_ROW": x.tile.strides[0],
            "X_FEATURE": x.tile.strides[1],
            "BLOCK": block,
            "LOWER": pairs.endswith("lower"),
            "DIAGONAL": not pairs.startswith("strict"),
            "PRODUCTS": context.products,
        },
    )
    view = tile_view(z, z.strides[0], 0, z.strides[-1])
    arguments = (x.buffer.name, view, "rows", "thread", str(context.threads))
    if is_tensor:
        statements = call(f"PairwiseTensor<{name}_sizes>::run", *arguments)
        return StageText(struct, statements, ("pairwise_tensor.cuh",), rows)
    statements = call(f"PairwiseDot<{name}_sizes>::run", *arguments)
    return StageText(struct, statements, ("pairwise_dot.cuh",), -(-items(block) // WARP_LANES))


def emit_bmm_stage(
    stage: Node, anchor: Node, tiles: tuple[PlacedTile, PlacedTile], context: StageContext
) -> StageText:
    """The text of one bmm stage."""
    a, b = tiles
    c = TileWindows(context.places, stage).result(anchor)
    entries, m, n = anchor.shape
    left = one(anchor.operands[0])
    depth = left.shape[1] if anchor.attributes.bool("trans_a") else left.shape[2]
    block = _block(lambda side: entries * -(-m // side) * -(-n // side), context.threads)
    name = f"{context.name}_{stage.name}"
    struct = constants_struct(
        f"{name}_sizes",
        {"Element": STORAGE_TYPES[anchor.type.dtype]},
        {
            "M": m,
            "N": n,
            "K_PADDED": round_up(depth, 4),
            "A_ROW": a.tile.strides[0],
            "A_ITEM": a.tile.strides[1],
            "B_ROW": b.tile.strides[0],
            "B_ITEM": b.tile.strides[1],
            "BLOCK_M": min(block, m),
            "BLOCK_N": min(block, n),
        },
    )
    per_row = entries // context.places.tile.rows
    count = "rows" if per_row == 1 else f"rows * {per_row}"
    row, item, column = c.strides
    view = tile_view(c, row, item, column)
    arguments = (a.buffer.name, b.buffer.name, view, count, "thread", str(context.threads))
    statements = call(f"BatchProduct<{name}_sizes>::run", *arguments)
    warps = -(-entries * -(-m // block) * -(-n // block) // WARP_LANES)
    return StageText(struct, statements, ("bmm.cuh",), warps)


def _block(items: Callable[[int], int], threads: int) -> int:
    """The largest block of results a thread that leaves no thread without one; 1 where none does."""
    return next((block for block in BLOCKS if items(block) >= threads), 1)
