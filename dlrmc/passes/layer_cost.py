"""Whether a linear layer belongs into a row program or has a kernel of its own, by a cost model.

In a row program every tile of rows reads the layer's weights again, but for those that a block keeps in
shared memory. A kernel of its own reads them less often, and costs two more launches and a trip of its
operands through L2. Costs are in cycles of a multiprocessor of an H100 or H200, fitted to the measurements in
docs/decisions/0013-large-products.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.ir.graph import Node
from dlrmc.ir.op import one

# Weights up to the first always stay in their row program, those above the second never do.
SMALL_WEIGHT_BYTES = 64 * 1024
LARGEST_WEIGHT_BYTES = 512 * 1024
_MULTIPROCESSORS = 132
_SHARED_BYTES = 227 * 1024
_TALLEST_TILE = 16
# From L2 to one multiprocessor while all, or less than half of them, read.
_L2_BYTES_PER_CYCLE = 24
_L2_BYTES_PER_CYCLE_ALONE = 48
# Two more launches and pipelines to fill; a multiply-add where all multiprocessors share the product, and the
# way along k where rows are few.
_APART_CYCLES = 5000
_MULTIPLY_ADD_CYCLES = 3.6e-5
_DEPTH_CYCLES = 10.7


def layers_apart(layers: Sequence[Node], batch: int, row_bytes: int) -> list[Node]:
    """The layers of a row program that a kernel of their own computes sooner.

    Args:
        layers: all its `linear` nodes.
        batch: rows of the whole batch.
        row_bytes: what a row of the intermediates takes that live at one time.
    """
    rows = _tile_rows(batch, row_bytes)
    tiles = -(-batch // rows)
    if rows * row_bytes + sum(_weight_bytes(layer) for layer in layers) <= _SHARED_BYTES:
        tiles = min(tiles, _MULTIPROCESSORS)  # a block reads its weights once
    return [layer for layer in layers if _is_cheaper_apart(layer, tiles)]


def _tile_rows(batch: int, row_bytes: int) -> int:
    """Rows of a tile: a tile for each multiprocessor, if it is not too tall and fits into shared memory."""
    rows = 1
    while rows < _TALLEST_TILE and -(-batch // rows) > _MULTIPROCESSORS:
        rows *= 2
    while rows > 1 and rows * row_bytes > _SHARED_BYTES:
        rows //= 2
    return rows


def _is_cheaper_apart(layer: Node, tiles: int) -> bool:
    weight_bytes = _weight_bytes(layer)
    if weight_bytes <= SMALL_WEIGHT_BYTES or weight_bytes > LARGEST_WEIGHT_BYTES:
        return weight_bytes > LARGEST_WEIGHT_BYTES
    is_crowded = tiles > _MULTIPROCESSORS // 2
    rate = _L2_BYTES_PER_CYCLE if is_crowded else _L2_BYTES_PER_CYCLE_ALONE
    fused_cycles = -(-tiles // _MULTIPROCESSORS) * weight_bytes / rate
    columns, depth = one(layer.operands[1]).shape
    multiply_adds = layer.type.numel // columns * columns * depth
    product_cycles = max(_MULTIPLY_ADD_CYCLES * multiply_adds, _DEPTH_CYCLES * depth)
    return _APART_CYCLES + product_cycles < fused_cycles


def _weight_bytes(layer: Node) -> int:
    return one(layer.operands[1]).type.size_bytes
