"""The estimated time of a linear kernel with a given tile, in cycles of a multiprocessor.

The model knows how many instructions a multiprocessor issues, how wide its shared memory and its path to L2
are, and what a trip to L2 costs where nothing hides it. It need not be exact: it ranks tiles of one problem.
"""

from __future__ import annotations

from dlrmc.codegen.kernels.linear_tile import WARP_LANES, LinearShape, LinearTile, ProductTile, RowsTile
from dlrmc.schedule.limits import DeviceLimits

# Per multiprocessor and cycle, and latencies in cycles, of Hopper (CUDA C++ Programming Guide, "Arithmetic
# Instructions", and docs/performance.md).
_SCHEDULERS = 4
_SHARED_BYTES_PER_CYCLE = 128
_L2_BYTES_PER_CYCLE = 24
_L2_LATENCY = 700
_BLOCK_START = 600
_BARRIER = 40
_SHUFFLE_STEP = 30
_RESIDENT_THREADS = 2048
_RESIDENT_REGISTERS = 65536
_RESIDENT_BLOCKS = 32


def cycles(tile: LinearTile, shape: LinearShape, limits: DeviceLimits) -> float:
    """The estimated time of the whole kernel in cycles of a multiprocessor."""
    if isinstance(tile, RowsTile):
        return _rows_cycles(tile, shape, limits)
    return _product_cycles(tile, shape, limits)


def _resident_blocks(threads: int, shared_bytes: int, registers: int, limits: DeviceLimits) -> int:
    by_shared = limits.shared_bytes_per_block // max(shared_bytes, 1024)
    by_registers = _RESIDENT_REGISTERS // (threads * registers)
    return max(1, min(_RESIDENT_THREADS // threads, by_shared, by_registers, _RESIDENT_BLOCKS))


def _rows_cycles(tile: RowsTile, shape: LinearShape, limits: DeviceLimits) -> float:
    steps, sums = tile.steps(shape.k), tile.rows_per_lane * tile.columns_per_lane
    packs = tile.columns_per_lane * -(-shape.element_bytes // 4)
    halvings = tile.lanes_over_k.bit_length() - 1
    # Sums are halved with every exchange while a lane has rows to give away.
    exchanged = sum(max(sums >> (i + 1), tile.columns_per_lane) for i in range(halvings))
    issued = steps * (4 * sums * shape.compute_bytes // 4 + 2 * packs + tile.rows_per_lane + 4)
    issued += 3 * exchanged + 10 * sums // tile.lanes_over_k + 60
    distinct_x_bytes = 16 * max(tile.lanes_over_k * min(tile.lanes_over_rows, 8), 8)
    loaded_bytes = steps * (
        tile.columns_per_lane * 4 * shape.element_bytes * WARP_LANES // tile.lanes_over_rows
        + tile.rows_per_lane * distinct_x_bytes
    )
    registers = 40 + sums + 8 * tile.columns_per_lane * tile.unroll(shape)
    resident = _resident_blocks(tile.threads, tile.shared_bytes(shape), registers, limits)
    blocks = -(-tile.blocks(shape) // limits.multiprocessors)
    work = blocks * tile.warp_blocks * max(issued / _SCHEDULERS, loaded_bytes / _SHARED_BYTES_PER_CYCLE)
    x_bytes = min(tile.rows, shape.rows) * shape.k * shape.element_bytes
    l2_bytes = x_bytes + min(tile.block_columns, shape.n) * shape.k * shape.element_bytes
    fill = _BLOCK_START + _L2_LATENCY + _BARRIER + tile.rows * shape.k / tile.threads
    # What one warp takes on its own; the others hide it only as far as there are others.
    turns = -(-tile.warp_blocks * WARP_LANES // tile.threads)
    alone = turns * (
        (-(-steps // tile.unroll(shape)) - 1) * _L2_LATENCY + issued * 1.5 + halvings * _SHUFFLE_STEP
    )
    waves = -(-blocks // resident)
    return waves * fill + max(work, waves * alone, blocks * l2_bytes / _L2_BYTES_PER_CYCLE)


def _product_cycles(tile: ProductTile, shape: LinearShape, limits: DeviceLimits) -> float:
    sums = tile.rows_per_thread * tile.columns_per_thread
    groups = tile.k // 4
    warps = max(1, tile.threads // WARP_LANES)
    issued = groups * (
        4 * sums * shape.compute_bytes // 4 + 2 * (tile.rows_per_thread + tile.columns_per_thread)
    )
    loaded = (tile.rows + tile.columns) * tile.k / tile.threads
    issued += int(loaded * 2) + 40
    shared_bytes = (
        groups * (tile.rows_per_thread + tile.columns_per_thread) * 16 * 8 * shape.compute_bytes // 4
    )
    chunk = warps * max(issued / _SCHEDULERS, shared_bytes / _SHARED_BYTES_PER_CYCLE)
    resident = _resident_blocks(tile.threads, tile.shared_bytes(shape), 60 + sums + int(loaded), limits)
    blocks = -(-tile.blocks(shape) // limits.multiprocessors)
    together = min(resident, blocks)
    chunks = -(-shape.k // tile.k)
    l2_bytes = (tile.rows + tile.columns) * tile.k * shape.element_bytes
    round_cycles = max(
        _L2_LATENCY + 2 * _BARRIER, together * chunk + _BARRIER, together * l2_bytes / _L2_BYTES_PER_CYCLE
    )
    return -(-blocks // together) * (_BLOCK_START + _L2_LATENCY + chunks * round_cycles + 10 * sums)
