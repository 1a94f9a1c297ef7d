"""The estimated time of a linear kernel with a given tile, in cycles of a multiprocessor.

The model knows how many instructions a multiprocessor issues, how wide its shared memory and its path to L2
are, and what a trip to L2 costs where nothing hides it. It need not be exact: it ranks tiles of one problem.
"""

from __future__ import annotations

from dlrmc.codegen.kernels.linear_tensor_cost import tensor_product_cycles
from dlrmc.codegen.kernels.linear_tile import (
    WARP_LANES,
    LinearShape,
    LinearTile,
    ProductTile,
    RowsTile,
    TensorProductTile,
    WarpgroupTile,
)
from dlrmc.codegen.kernels.linear_warpgroup_cost import warpgroup_cycles
from dlrmc.codegen.kernels.multiprocessor import (
    BARRIER,
    BLOCK_START,
    L2_BYTES_PER_CYCLE,
    L2_LATENCY,
    LINE_BYTES,
    SHUFFLE_STEP,
    busy_cycles,
    resident_blocks,
)
from dlrmc.schedule.limits import DeviceLimits

# Loads that a thread of load_tile has under way.
_COPIES_IN_FLIGHT = 4


def cycles(tile: LinearTile, shape: LinearShape, limits: DeviceLimits) -> float:
    """The estimated time of the whole kernel in cycles of a multiprocessor."""
    match tile:
        case RowsTile():
            return _rows_cycles(tile, shape, limits)
        case ProductTile():
            return _product_cycles(tile, shape, limits)
        case TensorProductTile():
            return tensor_product_cycles(tile, shape, limits)
        case WarpgroupTile():
            return warpgroup_cycles(tile, shape, limits)


def _weight_wavefronts(tile: RowsTile, shape: LinearShape) -> int:
    """Wavefronts of one step's loads of weights: the lines that each load touches, 128 bytes each at most."""
    lanes, columns, size_bytes = tile.lanes_over_k, tile.columns_per_lane, shape.element_bytes
    if not shape.weights_along_k:
        lines = lanes * -(-tile.warp_columns * size_bytes // LINE_BYTES)
        return 4 * max(lines, columns * size_bytes // 4)
    lines = tile.lanes_over_columns * -(-lanes * 4 * size_bytes // LINE_BYTES)
    loads = columns if shape.k % 4 == 0 else 4 * columns
    return loads * max(lines, size_bytes)


def _fill_rounds(tile: RowsTile, shape: LinearShape) -> int:
    """How many trips to L2, one after the other, it takes a thread to copy its share of x."""
    items = tile.rows * (shape.k // 4 if shape.k % 4 == 0 else shape.k)
    return max(1, -(-items // (tile.threads * _COPIES_IN_FLIGHT)))


def _rows_cycles(tile: RowsTile, shape: LinearShape, limits: DeviceLimits) -> float:
    steps, sums = tile.steps(shape.k), tile.rows_per_lane * tile.columns_per_lane
    width = shape.compute_bytes // 4
    loads = tile.columns_per_lane * (1 if shape.k % 4 == 0 else 4)
    halvings = tile.lanes_over_k.bit_length() - 1
    # Sums are halved with every exchange while a lane has rows to give away.
    exchanged = sum(max(sums >> (i + 1), tile.columns_per_lane) for i in range(halvings))
    step = 4 * sums * width + 2 * loads + tile.rows_per_lane + 4
    issued = steps * step + 3 * exchanged + 10 * sums // tile.lanes_over_k + 60
    wavefronts = steps * (4 * width * tile.rows_per_lane + _weight_wavefronts(tile, shape))
    wavefronts += tile.warp_rows * -(-tile.warp_columns * shape.element_bytes // LINE_BYTES)
    unroll = tile.unroll(shape)
    registers = 40 + sums + 8 * tile.columns_per_lane * unroll
    resident = resident_blocks(tile.threads, tile.shared_bytes(shape), registers, limits)
    blocks = -(-tile.blocks(shape) // limits.multiprocessors)
    x_bytes = min(tile.rows, shape.rows) * shape.k * shape.element_bytes
    l2_bytes = x_bytes + min(tile.block_columns, shape.n) * shape.k * shape.element_bytes
    fill = BLOCK_START + _fill_rounds(tile, shape) * L2_LATENCY + BARRIER
    # What one warp takes on its own; the others hide it only as far as there are others.
    turns = -(-tile.warp_blocks * WARP_LANES // tile.threads)
    batches = -(-steps // unroll)
    alone = turns * (
        (batches - 1) * max(L2_LATENCY, 1.5 * unroll * step)
        + 1.5 * (step + issued - steps * step)
        + halvings * SHUFFLE_STEP
    )
    waves = -(-blocks // resident)
    work = blocks * tile.warp_blocks * busy_cycles(issued, wavefronts)
    return waves * fill + max(work, waves * alone, blocks * l2_bytes / L2_BYTES_PER_CYCLE)


def _product_cycles(tile: ProductTile, shape: LinearShape, limits: DeviceLimits) -> float:
    sums = tile.rows_per_thread * tile.columns_per_thread
    packs = tile.rows_per_thread + tile.columns_per_thread
    groups, width = tile.k // 4, shape.compute_bytes // 4
    warps = max(1, tile.threads // WARP_LANES)
    loaded = (tile.rows + tile.columns) * tile.k / tile.threads
    issued = groups * (4 * sums * width + 2 * packs) + 2 * loaded + 40
    chunk = warps * busy_cycles(issued, groups * packs * 4 * width)
    resident = resident_blocks(tile.threads, tile.shared_bytes(shape), 60 + sums + int(loaded), limits)
    blocks = -(-tile.blocks(shape) // limits.multiprocessors)
    together = min(resident, blocks)
    chunks = -(-shape.k // tile.k)
    l2_bytes = (tile.rows + tile.columns) * tile.k * shape.element_bytes
    round_cycles = max(
        L2_LATENCY + 2 * BARRIER, together * chunk + BARRIER, together * l2_bytes / L2_BYTES_PER_CYCLE
    )
    return -(-blocks // together) * (BLOCK_START + L2_LATENCY + chunks * round_cycles + 10 * sums)
