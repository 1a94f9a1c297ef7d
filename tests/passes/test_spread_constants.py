from __future__ import annotations

from dlrmc.passes import spread_constants
from tests.passes.pass_case import check_pass, check_unchanged


def test_a_constant_that_repeats_a_row_holds_it_once() -> None:
    check_pass(
        spread_constants.run,
        """input %x : f32[2,3]
           const %a : f32[2,3] = [1.0,2.0,3.0,1.0,2.0,3.0]
           %y = add(%x, %a) : f32[2,3]
           return %y""",
        """input %x : f32[2,3]
           const %a_1 : f32[1,3] = [1.0,2.0,3.0]
           %a = expand(%a_1) {shape=[2,3]} : f32[2,3]
           %y = add(%x, %a) : f32[2,3]
           return %y""",
        {"spread": 1},
    )


def test_every_dimension_that_repeats_is_left_out() -> None:
    check_pass(
        spread_constants.run,
        """input %x : bool[2,3,2]
           const %a : bool[2,3,2] = [true,true,false,false,true,true,true,true,false,false,true,true]
           %y = logical_and(%x, %a) : bool[2,3,2]
           return %y""",
        """input %x : bool[2,3,2]
           const %a_1 : bool[1,3,1] = [true,false,true]
           %a = expand(%a_1) {shape=[2,3,2]} : bool[2,3,2]
           %y = logical_and(%x, %a) : bool[2,3,2]
           return %y""",
        {"spread": 1},
    )


def test_a_negative_zero_is_not_a_zero() -> None:
    check_unchanged(
        spread_constants.run,
        """input %x : f32[2]
           const %a : f32[2] = [0.0,-0.0]
           %y = add(%x, %a) : f32[2]
           return %y""",
    )


def test_constants_that_are_ids_or_returned_stay() -> None:
    check_unchanged(
        spread_constants.run,
        """input %x : f32[4]
           const %ids : i64[2] = [3,3]
           const %a : f32[2] = [1.0,1.0]
           %y = index_select(%x, %ids) {dim=0} : f32[2]
           return %y, %a""",
    )


def test_scalars_and_constants_without_elements_stay() -> None:
    check_unchanged(
        spread_constants.run,
        """input %x : f32[0,2]
           const %a : f32[0,2] = []
           const %b : f32[] = 1.0
           %c = add(%x, %a) : f32[0,2]
           %y = add(%c, %b) : f32[0,2]
           return %y""",
    )
