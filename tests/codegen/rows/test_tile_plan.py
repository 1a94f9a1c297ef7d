"""The height of tiles: weights that stay, sums of slices that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlrmc.errors import CodegenError
from tests.codegen.rows.row_cases import SMALL_DEVICE, row_case
from tests.codegen.rows.test_row_programs import assert_right, kernel, run


def layers_model(batch: int) -> str:
    """Two layers, whose weights take 35 and 35 KB."""
    return f"""graph @layers {{
  input %x : f32[{batch},4,64]
  weight %w : f32[128,64] = "w"
  weight %v : f32[64,128] = "v"
  %a = linear(%x, %w) {{act=relu}} : f32[{batch},4,128]
  %b = linear(%a, %v) : f32[{batch},4,64]
  return %b
}}
"""


def planned(batch: int, shared_bytes: int):
    return row_case(layers_model(batch), limits=replace(SMALL_DEVICE, shared_bytes_per_block=shared_bytes))


def height(case) -> int:
    head = "static_cast<long long>(tile) * "
    return int(kernel(case).text.partition(head)[2].partition(";")[0])


def weights_kept(case) -> int:
    return sum(f"{layer}_w = " in kernel(case).text for layer in ("a", "b"))


@pytest.mark.parametrize(
    ("shared_bytes", "rows", "kept"),
    [
        (160 * 1024, 16, 2),  # all fit
        (135 * 1024, 8, 2),  # with 8 rows all fit
        (115 * 1024, 16, 1),  # with no height all fit
    ],
)
def test_tiles_are_lower_where_all_weights_stay_then(own_cache, shared_bytes, rows, kept):
    case = planned(70, shared_bytes)
    assert (height(case), weights_kept(case)) == (rows, kept)
    assert_right(case, run(case, own_cache))


def test_layers_do_without_slices_of_k_before_a_tile_is_lower(own_cache):
    case = planned(70, 60 * 1024)
    assert height(case) == 16
    assert kernel(case).text.count("K_SLICES = 1;") == 2
    assert kernel(planned(70, 70 * 1024)).text.count("K_SLICES = 1;") == 1
    assert_right(case, run(case, own_cache))


def test_a_tile_of_one_row_that_does_not_fit_is_refused():
    with pytest.raises(CodegenError, match="bytes of shared memory for 1 rows"):
        planned(70, 512)
