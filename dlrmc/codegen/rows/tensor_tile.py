"""How the warps of a block share one tensor-core linear stage."""

from __future__ import annotations

from dataclasses import dataclass

from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.rows.operand_tiles import TENSOR_DEPTH, TENSOR_ROWS
from dlrmc.ir.graph import Node
from dlrmc.ir.op import many

COLUMNS = 8
# Instructions, roughly: splitting x in a step of 16 k; weights and products of a column tile; meeting.
_SPLIT_X = 30
_STEP = 20
_MEET = 300
# What a warp alone takes for a step, and for each of its products.
_STEP_LATENCY = 80
_PRODUCT_LATENCY = 8
_SCHEDULERS = 4


@dataclass(frozen=True, slots=True)
class TensorTile:
    """Sizes of linear_tensor.cuh.

    Args:
        row_tiles: tiles of 16 rows.
        column_tiles: tiles of 8 columns of one unit of work.
        column_groups: units side by side.
        k_slices: units that share the k of one result.
    """

    row_tiles: int
    column_tiles: int
    column_groups: int
    k_slices: int

    @property
    def units(self) -> int:
        """Units of work, one warp each."""
        return self.row_tiles * self.column_groups * self.k_slices

    @property
    def scratch_elements(self) -> int:
        """Floats that the units' sums need where k is sliced."""
        return self.units * self.column_tiles * WARP_LANES * 4 if self.k_slices > 1 else 0


def choose_tensor_tile(anchor: Node, threads: int, slices_k: bool = True) -> TensorTile:
    """The tile of least estimated time for a `linear` of a tile of rows, in a block of `threads` threads.

    `slices_k`: whether several units may share the k of a result.
    """
    n, warps = anchor.shape[-1], threads // WARP_LANES
    rows = anchor.type.numel // n
    width = sum(part.shape[-1] for part in many(anchor.operands[0]))
    steps, tiles = -(-width // TENSOR_DEPTH), -(-n // COLUMNS)
    candidates = [
        TensorTile(-(-rows // TENSOR_ROWS), column_tiles, -(-tiles // column_tiles), k_slices)
        for column_tiles in (1, 2, 4)
        if column_tiles <= tiles
        for k_slices in ((1, 2, 4, 8, 16) if slices_k else (1,))
        if k_slices <= steps
    ]
    return min(candidates, key=lambda tile: _cycles(tile, steps, warps))


def _cycles(tile: TensorTile, steps: int, warps: int) -> float:
    turns = -(-tile.units // warps)
    busy = min(tile.units, warps)
    slice_steps = -(-steps // tile.k_slices)
    issued = slice_steps * (_SPLIT_X + tile.column_tiles * _STEP)
    latency = slice_steps * (_STEP_LATENCY + tile.column_tiles * 6 * _PRODUCT_LATENCY)
    meet = _MEET + 8 * tile.k_slices if tile.k_slices > 1 else 0
    return turns * max(issued * max(1.0, busy / _SCHEDULERS), latency) + meet
