"""The choice of a linear kernel's tiles: candidates, a cost model in cycles, the least cost.

The model knows how many instructions a multiprocessor issues, how wide its shared memory and its path to L2
are, and what a trip to L2 costs where nothing hides it. It need not be exact: it ranks tiles of one problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from dlrmc.codegen.kernels.sizes import odd_packs, power_of_two_at_least, round_up
from dlrmc.errors import CodegenError
from dlrmc.schedule.limits import DeviceLimits

WARP_LANES = 32
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
_LARGEST_WARPS = 16
_TILE_ROWS = (1, 2, 4, 8, 16, 32, 64)
# Weights of 4 bytes that one lane loads ahead, and sums from which on half as many must do.
_WEIGHTS_AHEAD = 32
_MANY_SUMS = 32
# Tiles so small that the grid has more blocks than this for each multiprocessor are not worth a look.
_LARGEST_GRID = 4


@dataclass(frozen=True, slots=True)
class LinearShape:
    """What the choice depends on: rows, n and k of each of `batch` products, bytes of an element and a sum."""

    rows: int
    n: int
    k: int
    element_bytes: int
    compute_bytes: int
    batch: int = 1


@dataclass(frozen=True, slots=True)
class RowsTile:
    """A tile of `rows` rows held whole in shared memory, weights streamed from L2 (linear.cuh).

    A block computes `block_columns` columns; the other names are those of linear.cuh. `x_stride` in elements.
    """

    rows: int
    block_columns: int
    rows_per_lane: int
    columns_per_lane: int
    lanes_over_rows: int
    lanes_over_columns: int
    lanes_over_k: int
    threads: int
    x_stride: int

    @property
    def warp_rows(self) -> int:
        """Rows of a warp's block."""
        return self.rows_per_lane * self.lanes_over_rows

    @property
    def warp_columns(self) -> int:
        """Columns of a warp's block."""
        return self.columns_per_lane * self.lanes_over_columns

    @property
    def warp_blocks(self) -> int:
        """Blocks of warps in the tile."""
        return -(-self.rows // self.warp_rows) * -(-self.block_columns // self.warp_columns)

    def steps(self, k: int) -> int:
        """How often a lane reads a group of 4 k."""
        return -(-k // (4 * self.lanes_over_k))

    def shared_bytes(self, shape: LinearShape) -> int:
        """Bytes of the x tile."""
        return self.rows * self.x_stride * shape.compute_bytes

    def blocks(self, shape: LinearShape) -> int:
        """Blocks of the grid."""
        return -(-shape.rows // self.rows) * -(-shape.n // self.block_columns)

    def unroll(self, shape: LinearShape) -> int:
        """Steps whose weights are loaded together, one such batch ahead."""
        sums = self.rows_per_lane * self.columns_per_lane
        ahead = _WEIGHTS_AHEAD // 2 if sums >= _MANY_SUMS else _WEIGHTS_AHEAD
        wanted = ahead // (4 * self.columns_per_lane * (shape.compute_bytes // 4))
        return max(1, min(wanted, self.steps(shape.k)))


@dataclass(frozen=True, slots=True)
class ProductTile:
    """A tile of both operands passes through shared memory in chunks of `k` (tiled_product.cuh)."""

    rows: int
    columns: int
    k: int
    rows_per_thread: int
    columns_per_thread: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.rows // self.rows_per_thread) * (self.columns // self.columns_per_thread)

    def shared_bytes(self, shape: LinearShape) -> int:
        """Bytes of the two buffers."""
        return 2 * (self.rows + self.columns) * odd_packs(self.k) * shape.compute_bytes

    def blocks(self, shape: LinearShape) -> int:
        """Blocks of the grid."""
        return shape.batch * -(-shape.rows // self.rows) * -(-shape.n // self.columns)


LinearTile = RowsTile | ProductTile

PRODUCT_TILES = (
    ProductTile(128, 128, 16, 8, 8),
    ProductTile(128, 64, 16, 8, 4),
    ProductTile(64, 64, 16, 4, 4),
    ProductTile(32, 64, 16, 4, 4),
    ProductTile(32, 32, 16, 2, 4),
    ProductTile(16, 32, 32, 2, 2),
)


@cache
def choose_tile(shape: LinearShape, limits: DeviceLimits, rows: int = 0, threads: int = 0) -> LinearTile:
    """The tile of least estimated time; the first of equals, so that a problem always has the same tile.

    Args:
        shape: the problem.
        limits: of the device.
        rows: the wanted rows of a tile; 0 for any.
        threads: the wanted threads of a block that holds a tile of rows whole; 0 for any.

    Raises:
        CodegenError: where no tile has so many rows or fits into shared memory.
    """
    fitting = [
        tile
        for tile in (*_rows_tiles(shape, limits, threads, rows), *PRODUCT_TILES)
        if rows in (0, tile.rows) and tile.shared_bytes(shape) <= limits.shared_bytes_per_block
    ]
    if not fitting:
        raise CodegenError(
            f"linear of {shape.rows} rows, {shape.n} columns, depth {shape.k}",
            found=f"no tile of {rows} rows fits into {limits.shared_bytes_per_block} bytes of shared memory",
            expected="rows=0, or a power of two that fits",
        )
    return min(fitting, key=lambda tile: cycles(tile, shape, limits))


def choose_product_tile(shape: LinearShape, limits: DeviceLimits) -> ProductTile:
    """The tile of least estimated time among PRODUCT_TILES."""
    return min(PRODUCT_TILES, key=lambda tile: _product_cycles(tile, shape, limits))


def cycles(tile: LinearTile, shape: LinearShape, limits: DeviceLimits) -> float:
    """The estimated time of the whole kernel in cycles of a multiprocessor."""
    if isinstance(tile, RowsTile):
        return _rows_cycles(tile, shape, limits)
    return _product_cycles(tile, shape, limits)


def _rows_tiles(
    shape: LinearShape, limits: DeviceLimits, threads: int, wanted_rows: int
) -> Iterator[RowsTile]:
    for rows in _TILE_ROWS:
        if rows > power_of_two_at_least(shape.rows):
            return
        blocks = -(-shape.rows // rows)
        if blocks > _LARGEST_GRID * limits.multiprocessors and rows not in (_TILE_ROWS[-1], wanted_rows):
            continue
        least = shape.n * blocks // (_LARGEST_GRID * limits.multiprocessors)
        for rows_per_lane in _distinct(min(rows, 4), min(rows, 8)):
            for lanes_over_rows in _distinct(1, rows // rows_per_lane):
                for tile in _lane_layouts(shape, threads, rows, rows_per_lane, lanes_over_rows):
                    if tile.block_columns >= min(least, shape.n):
                        yield tile


def _distinct(first: int, second: int) -> tuple[int, ...]:
    return (first,) if first == second else (first, second)


def _lane_layouts(
    shape: LinearShape, threads: int, rows: int, rows_per_lane: int, lanes_over_rows: int
) -> Iterator[RowsTile]:
    for columns_per_lane in (1, 2, 4):
        lanes_over_columns = 1
        while lanes_over_columns * lanes_over_rows <= WARP_LANES:
            warp_columns = columns_per_lane * lanes_over_columns
            lanes_over_k = WARP_LANES // (lanes_over_rows * lanes_over_columns)
            if warp_columns > power_of_two_at_least(shape.n):
                break
            for block_columns in _block_columns(shape.n, warp_columns):
                yield _rows_tile(
                    shape,
                    threads,
                    (rows, block_columns, rows_per_lane, columns_per_lane),
                    (lanes_over_rows, lanes_over_columns, lanes_over_k),
                )
            lanes_over_columns *= 2


def _block_columns(n: int, warp_columns: int) -> Iterator[int]:
    """All columns in one block, or 1, 2, 4, ... blocks of a warp."""
    columns = warp_columns
    while columns < n:
        yield columns
        columns *= 2
    yield round_up(n, warp_columns)


def _rows_tile(
    shape: LinearShape, threads: int, sizes: tuple[int, int, int, int], lanes: tuple[int, int, int]
) -> RowsTile:
    tile = RowsTile(*sizes, *lanes, threads=threads, x_stride=_x_stride(shape.k, lanes[0], lanes[2]))
    warps = min(tile.warp_blocks, _LARGEST_WARPS)
    return tile if threads else RowsTile(*sizes, *lanes, warps * WARP_LANES, tile.x_stride)


def _x_stride(k: int, lanes_over_rows: int, lanes_over_k: int) -> int:
    """The stride of x in shared memory at which the 8 lanes of a quarter warp read different banks."""
    stride = round_up(k, 4)
    if lanes_over_rows == 1 or lanes_over_k >= 8:
        return stride
    period, wanted = 8 * lanes_over_k, 4 * lanes_over_k
    return stride + (wanted - stride) % period


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
