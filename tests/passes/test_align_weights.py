from __future__ import annotations

import pytest

from dlrmc.passes import align_weights
from tests.passes.pass_case import check_pass, check_unchanged


def test_rows_of_odd_length_are_padded_once_at_load() -> None:
    check_pass(
        align_weights.run,
        """input %x : f32[5,61]
           weight %w : f32[400,61] = "w"
           weight %b : f32[400] = "b"
           %y = linear(%x, %w, %b) {act=relu} : f32[5,400]
           %z = linear(%x, %w) : f32[5,400]
           return %y, %z""",
        """input %x : f32[5,61]
           weight %w : f32[400,61] = "w"
           weight %b : f32[400] = "b"
           %w_aligned = derive(%w) {
             const %zero : f32[1,1] = [0.0]
             %expand = expand(%zero) {shape=[400,3]} : f32[400,3]
             %cat = cat(%w, %expand) {dim=1} : f32[400,64]
             yield %cat
           } : f32[400,64]
           %slice = slice(%w_aligned) {dim=1, start=0, stop=61} : f32[400,61]
           %y = linear(%x, %slice, %b) {act=relu} : f32[5,400]
           %z = linear(%x, %slice) : f32[5,400]
           return %y, %z""",
        {"aligned": 1},
    )


@pytest.mark.parametrize(
    ("rows", "columns"),
    [pytest.param(400, 60, id="rows of 16 bytes"), pytest.param(50, 61, id="few weights")],
)
def test_other_weights_stay(rows: int, columns: int) -> None:
    check_unchanged(
        align_weights.run,
        f"""input %x : f32[5,{columns}]
            weight %w : f32[{rows},{columns}] = "w"
            %y = linear(%x, %w) : f32[5,{rows}]
            return %y""",
    )
