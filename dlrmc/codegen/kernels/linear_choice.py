"""The choice of a linear kernel's tile: candidates, and the one of least estimated time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from dlrmc.codegen.kernels.linear_cost import cycles
from dlrmc.codegen.kernels.linear_problem import LinearProblem
from dlrmc.codegen.kernels.linear_tensor import copies_of, fits_tensor_cores
from dlrmc.codegen.kernels.linear_tile import (
    PRODUCT_TILES,
    TENSOR_TILES,
    WARP_LANES,
    WARPGROUP_TILES,
    LinearShape,
    LinearTile,
    ProductTile,
    RowsTile,
)
from dlrmc.codegen.kernels.linear_warpgroup import fits_warpgroups
from dlrmc.codegen.kernels.sizes import power_of_two_at_least, round_up
from dlrmc.errors import CodegenError
from dlrmc.schedule.limits import DeviceLimits

_LARGEST_WARPS = 16
_TILE_ROWS = (1, 2, 4, 8, 16, 32, 64)
# Tiles so small that the grid has more blocks than this for each multiprocessor are not worth a look.
_LARGEST_GRID = 4


def linear_shape(problem: LinearProblem, precision: str = "fp32") -> LinearShape:
    """What the choice of a tile depends on; `precision` is that of products on tensor cores."""
    compute_bytes = max(problem.dtype.size_bytes, 4)
    return LinearShape(
        problem.rows,
        problem.n,
        problem.k,
        problem.dtype.size_bytes,
        compute_bytes,
        weights_along_k=problem.weight.column == 1,
        parts=len(problem.parts),
        copies=copies_of(problem),
        precision=precision,
        fits_tensor_cores=fits_tensor_cores(problem),
        fits_warpgroups=fits_warpgroups(problem, precision),
    )


@cache
def choose_tile(shape: LinearShape, limits: DeviceLimits, rows: int = 0, threads: int = 0) -> LinearTile:
    """The tile of least estimated time; the first of equals, so that a problem always has the same tile.

    Args:
        shape: the problem.
        limits: of the device.
        rows: the wanted rows of a tile; 0 for any.
        threads: the wanted threads of a block, but of one that computes in chunks without tensor cores; 0
            for any.

    Raises:
        CodegenError: where no tile has so many rows or fits into shared memory.
    """
    rows_tiles = _rows_tiles(shape, limits, threads, rows)
    tensor_tiles = _tensor_tiles(shape, limits, threads)
    fitting: list[LinearTile] = [
        tile
        for tile in (*rows_tiles, *PRODUCT_TILES, *tensor_tiles)
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
    return min(PRODUCT_TILES, key=lambda tile: cycles(tile, shape, limits))


def _tensor_tiles(shape: LinearShape, limits: DeviceLimits, threads: int) -> Iterator[LinearTile]:
    tensor_tiles = TENSOR_TILES if shape.fits_tensor_cores else ()
    warpgroup_tiles = WARPGROUP_TILES if shape.fits_warpgroups and limits.has_warpgroups else ()
    for tile in (*warpgroup_tiles, *tensor_tiles):
        if threads in (0, tile.threads):
            yield tile


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
