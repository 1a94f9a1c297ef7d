"""The choice of a linear kernel's tile: what fits, what fills the chip, and always the same."""

from __future__ import annotations

import itertools

import pytest

from dlrmc.codegen.kernels.linear_choice import choose_product_tile, choose_tile
from dlrmc.codegen.kernels.linear_cost import cycles
from dlrmc.codegen.kernels.linear_tile import (
    PRODUCT_TILES,
    TENSOR_TILES,
    LinearShape,
    ProductTile,
    RowsTile,
    TensorProductTile,
)
from dlrmc.errors import CodegenError
from dlrmc.schedule.limits import DeviceLimits

LIMITS = DeviceLimits()
SHAPES = [
    LinearShape(rows, n, k, element_bytes, max(element_bytes, 4))
    for rows, n, k, element_bytes in itertools.product(
        (1, 2, 17, 2048, 65536), (1, 3, 64, 1000), (1, 13, 512, 3456), (2, 4, 8)
    )
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_tile_fits_and_covers_the_problem(shape):
    tile = choose_tile(shape, LIMITS)
    assert tile.shared_bytes(shape) <= LIMITS.shared_bytes_per_block
    assert tile.threads % 32 == 0
    assert 32 <= tile.threads <= LIMITS.threads_per_block
    assert cycles(tile, shape, LIMITS) > 0
    if isinstance(tile, ProductTile):
        assert tile in PRODUCT_TILES
        return
    assert tile.lanes_over_rows * tile.lanes_over_columns * tile.lanes_over_k == 32
    assert tile.rows % tile.warp_rows == 0
    assert tile.x_stride >= shape.k
    assert tile.x_stride % 4 == 0
    # Neighbouring blocks of columns may not overlap.
    assert tile.block_columns % tile.warp_columns == 0


@pytest.mark.parametrize(
    ("rows", "n", "k"), [(2048, 64, 544), (2048, 1024, 1024), (128, 1024, 1024), (2, 1024, 3456)]
)
def test_large_problems_fill_the_chip(rows, n, k):
    shape = LinearShape(rows, n, k, 4, 4)
    assert choose_tile(shape, LIMITS).blocks(shape) >= 0.75 * LIMITS.multiprocessors


def test_a_deep_layer_of_two_rows_is_spread_over_lanes_and_blocks():
    shape = LinearShape(2, 64, 544, 4, 4)
    tile = choose_tile(shape, LIMITS)
    assert isinstance(tile, RowsTile)
    assert tile.lanes_over_k >= 16
    assert tile.blocks(shape) * tile.threads >= 1024


def test_a_row_too_long_for_shared_memory_passes_in_chunks():
    shape = LinearShape(512, 64, 100_000, 4, 4)
    assert isinstance(choose_tile(shape, LIMITS), ProductTile)


def test_the_wanted_rows_and_threads_are_kept():
    shape = LinearShape(2048, 64, 64, 4, 4)
    tile = choose_tile(shape, LIMITS, rows=8, threads=96)
    assert isinstance(tile, RowsTile)
    assert (tile.rows, tile.threads) == (8, 96)


def test_rows_that_no_tile_has_are_refused():
    with pytest.raises(CodegenError, match="no tile of 24 rows fits"):
        choose_tile(LinearShape(2048, 64, 64, 4, 4), LIMITS, rows=24)


def test_the_choice_does_not_depend_on_what_was_chosen_before():
    shape = LinearShape(300, 48, 100, 4, 4)
    first = choose_tile(shape, LIMITS)
    choose_tile.cache_clear()
    assert choose_tile(shape, LIMITS) == first


def test_small_products_of_a_batch_get_small_tiles():
    few = choose_product_tile(LinearShape(70, 70, 64, 4, 4, batch=1), LIMITS)
    many = choose_product_tile(LinearShape(512, 512, 64, 4, 4, batch=64), LIMITS)
    assert few.rows * few.columns < many.rows * many.columns


def _tensor_shape(rows, n, k, precision="fp32"):
    return LinearShape(rows, n, k, 4, 4, precision=precision, fits_tensor_cores=True)


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
@pytest.mark.parametrize(
    ("rows", "n", "k"),
    [(2048, 1024, 479), (2048, 1024, 1024), (2048, 256, 512), (128, 1024, 1024), (65536, 512, 512)],
)
def test_large_products_go_to_tensor_cores(rows, n, k, precision):
    shape = _tensor_shape(rows, n, k, precision)
    tile = choose_tile(shape, LIMITS)
    assert isinstance(tile, TensorProductTile)
    assert tile.blocks(shape) >= 0.75 * LIMITS.multiprocessors


@pytest.mark.parametrize(("rows", "n", "k"), [(2, 64, 544), (2048, 64, 3), (2048, 1, 256), (32, 16, 64)])
def test_small_products_do_not(rows, n, k):
    assert not isinstance(choose_tile(_tensor_shape(rows, n, k), LIMITS), TensorProductTile)


def test_what_tensor_cores_cannot_compute_stays_away_from_them():
    assert isinstance(choose_tile(LinearShape(2048, 1024, 1024, 4, 4), LIMITS), ProductTile)


@pytest.mark.parametrize("tile", TENSOR_TILES, ids=str)
def test_a_tensor_tile_is_made_of_whole_fragments(tile):
    row_tiles, column_tiles = tile.fragments
    assert (row_tiles * 16 * tile.warps[0], column_tiles * 8 * tile.warps[1]) == (tile.rows, tile.columns)
    assert row_tiles * column_tiles % tile.warps[2] == 0
    assert tile.shared_bytes(_tensor_shape(2048, 1024, 1024)) <= LIMITS.shared_bytes_per_block
    # At least two warps for each of the four tensor cores of a multiprocessor.
    assert tile.threads >= 256


@pytest.mark.parametrize("tile", TENSOR_TILES, ids=str)
def test_a_tensor_tile_can_be_asked_for_by_rows_and_threads(tile):
    found = choose_tile(_tensor_shape(2048, 1024, 1024), LIMITS, rows=tile.rows, threads=tile.threads)
    assert isinstance(found, TensorProductTile)
    assert (found.rows, found.threads) == (tile.rows, tile.threads)


def test_fewer_products_take_less_time_where_they_are_what_takes_time():
    tile = TENSOR_TILES[0]
    three, one = (cycles(tile, _tensor_shape(65536, 1024, 1024, name), LIMITS) for name in ("fp32", "tf32"))
    assert 1.5 * one < three < 3 * one
