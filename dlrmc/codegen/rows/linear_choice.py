"""How the lanes and warps of a block share a linear stage of ordinary products (linear.cuh)."""

from __future__ import annotations

from collections.abc import Iterator

from dlrmc.codegen.kernels.linear_tile import WARP_LANES, LinearShape, RowsTile
from dlrmc.codegen.kernels.sizes import power_of_two_at_least, round_up
from dlrmc.codegen.rows.operand_tiles import padded_rows

# Cycles, roughly: a trip to L2 and to shared memory, one step of a shuffle butterfly, a warp's turn.
_L2_LATENCY = 300
_SHARED_LATENCY = 35
_SHUFFLE = 30
_TURN = 60
_SCHEDULERS = 4
# Shared memory serves packs of 16 bytes to a quarter of a warp at a time, from 8 banks of a pack each.
_QUARTER = 8
_BANKS = 8


def choose_stage_tile(shape: LinearShape, x_stride: int, threads: int, w_stride: int) -> RowsTile:
    """The candidate of least estimated time.

    Args:
        shape: of the product on one tile.
        x_stride: of the x tile, in elements.
        threads: of the block, all of which work on the stage.
        w_stride: of weights that stand in shared memory, in elements; 0 for weights that come from L2.
    """
    warps = threads // WARP_LANES

    def cycles(tile: RowsTile) -> float:
        if w_stride:
            return _resident_cycles(tile, shape, warps, w_stride)
        return _streamed_cycles(tile, shape, warps)

    return min(_candidates(shape, x_stride, threads), key=cycles)


def _candidates(shape: LinearShape, x_stride: int, threads: int) -> Iterator[RowsTile]:
    rows = padded_rows(shape.rows)
    for rows_per_lane in (1, 2, 4, 8):
        for lanes_over_rows in (1, 2, 4, 8):
            if rows % (rows_per_lane * lanes_over_rows):
                continue
            for columns_per_lane in (1, 2, 4):
                yield from _over_columns(
                    shape, x_stride, threads, (rows_per_lane, lanes_over_rows, columns_per_lane)
                )


def _over_columns(
    shape: LinearShape, x_stride: int, threads: int, sizes: tuple[int, int, int]
) -> Iterator[RowsTile]:
    """`sizes`: rows of a lane, lanes over rows, columns of a lane."""
    rows_per_lane, lanes_over_rows, columns_per_lane = sizes
    lanes_over_columns = 1
    while lanes_over_rows * lanes_over_columns <= WARP_LANES:
        columns = columns_per_lane * lanes_over_columns
        if columns > power_of_two_at_least(shape.n):
            return
        yield RowsTile(
            rows=shape.rows,
            block_columns=round_up(shape.n, columns),
            rows_per_lane=rows_per_lane,
            columns_per_lane=columns_per_lane,
            lanes_over_rows=lanes_over_rows,
            lanes_over_columns=lanes_over_columns,
            lanes_over_k=WARP_LANES // (lanes_over_rows * lanes_over_columns),
            threads=threads,
            x_stride=x_stride,
        )
        lanes_over_columns *= 2


def _issued(tile: RowsTile, steps: int) -> int:
    """Instructions of one warp for one block of results."""
    sums = tile.rows_per_lane * tile.columns_per_lane
    folds = tile.lanes_over_k.bit_length() - 1
    folding = 3 * folds * tile.columns_per_lane * max(1, tile.rows_per_lane // 2)
    return steps * (4 * sums + 4 * tile.columns_per_lane + 4 * tile.rows_per_lane + 4) + folding + 20


def _streamed_cycles(tile: RowsTile, shape: LinearShape, warps: int) -> float:
    """Weights come from L2: few turns, each as short as the trips allow."""
    steps, folds = tile.steps(shape.k), tile.lanes_over_k.bit_length() - 1
    turns = -(-tile.warp_blocks // warps)
    latency = -(-steps // tile.unroll(shape)) * _L2_LATENCY + folds * _SHUFFLE + _TURN
    busy = min(warps, tile.warp_blocks)
    return turns * (latency + _issued(tile, steps) * max(1.0, busy / _SCHEDULERS))


def _resident_cycles(tile: RowsTile, shape: LinearShape, warps: int, w_stride: int) -> float:
    """Weights stand in shared memory: its reads, instructions and the longest warp bound the stage."""
    steps, folds = tile.steps(shape.k), tile.lanes_over_k.bit_length() - 1
    turns = -(-tile.warp_blocks // warps)
    reads = tile.columns_per_lane * _read_cycles(_weight_packs(tile, w_stride // 4))
    reads += tile.rows_per_lane * _read_cycles(_x_packs(tile))
    issued = _issued(tile, steps)
    latency = turns * (issued + -(-steps // tile.unroll(shape)) * _SHARED_LATENCY + folds * _SHUFFLE + _TURN)
    bounds = (latency, tile.warp_blocks * issued / _SCHEDULERS, tile.warp_blocks * steps * reads)
    # What is not the bound still gets in its way.
    return max(bounds) + 0.25 * sum(bounds)


def _weight_packs(tile: RowsTile, stride: int) -> list[int]:
    """Which pack of the weights each lane of a warp reads at once, as LinearRows deals them."""
    over_k, over_columns = tile.lanes_over_k, tile.lanes_over_columns
    step = tile.columns_per_lane * stride
    return [lane // over_k % over_columns * step + lane % over_k for lane in range(WARP_LANES)]


def _x_packs(tile: RowsTile) -> list[int]:
    over_k, stride = tile.lanes_over_k, tile.x_stride // 4
    per_row = over_k * tile.lanes_over_columns
    return [lane // per_row * stride + lane % over_k for lane in range(WARP_LANES)]


def _read_cycles(packs: list[int]) -> int:
    """Cycles of one read of shared memory: a quarter takes one for each pack of its busiest bank."""
    cycles = 0
    for first in range(0, WARP_LANES, _QUARTER):
        banks = [pack % _BANKS for pack in set(packs[first : first + _QUARTER])]
        cycles += max(banks.count(bank) for bank in banks)
    return cycles
