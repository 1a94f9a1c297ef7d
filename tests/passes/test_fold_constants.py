from __future__ import annotations

from dlrmc.passes import fold_constants
from tests.passes.pass_case import check_pass, check_unchanged


def test_what_depends_on_constants_only_is_a_constant() -> None:
    check_pass(
        fold_constants.run,
        """input %x : i64[3]
           const %a : i64[3] = [1,2,3]
           const %b : i64[] = 2
           %c = mul(%a, %b) : i64[3]
           %d = add(%c, %b) : i64[3]
           %y = add(%x, %d) : i64[3]
           return %y, %c""",
        """input %x : i64[3]
           const %c : i64[3] = [2,4,6]
           const %d : i64[3] = [4,6,8]
           %y = add(%x, %d) : i64[3]
           return %y, %c""",
        {"folded": 2},
    )


def test_an_expand_is_left_to_its_readers_but_its_operand_is_folded() -> None:
    check_pass(
        fold_constants.run,
        """input %x : f32[2,3]
           const %a : f32[1] = [1.0]
           %b = neg(%a) : f32[1]
           %c = expand(%b) {shape=[2,3]} : f32[2,3]
           %y = add(%x, %c) : f32[2,3]
           return %y""",
        """input %x : f32[2,3]
           const %b : f32[1] = [-1.0]
           %c = expand(%b) {shape=[2,3]} : f32[2,3]
           %y = add(%x, %c) : f32[2,3]
           return %y""",
        {"folded": 1},
    )


def test_an_expand_inside_is_folded_with_its_reader() -> None:
    check_pass(
        fold_constants.run,
        """input %x : i64[2,2]
           const %a : i64[2] = [1,2]
           %b = expand(%a) {shape=[2,2]} : i64[2,2]
           %c = sum(%b) {dims=[0]} : i64[2]
           %y = add(%x, %c) : i64[2,2]
           return %y""",
        """input %x : i64[2,2]
           const %c : i64[2] = [2,4]
           %y = add(%x, %c) : i64[2,2]
           return %y""",
        {"folded": 1},
    )


def test_large_results_stay_ops() -> None:
    check_unchanged(
        fold_constants.run,
        """input %x : f32[1024,1024]
           const %a : f32[1] = [1.0]
           %b = expand(%a) {shape=[1024,1024]} : f32[1024,1024]
           %c = neg(%b) : f32[1024,1024]
           %y = add(%x, %c) : f32[1024,1024]
           return %y""",
    )


def test_what_the_reference_refuses_stays() -> None:
    check_unchanged(
        fold_constants.run,
        """input %x : f32[3]
           const %a : f32[3] = [1.0,2.0,3.0]
           const %i : i64[1] = [7]
           %b = index(%a, %i) : f32[1]
           %y = add(%x, %b) : f32[3]
           return %y""",
    )


def test_inputs_and_weights_are_no_constants() -> None:
    check_unchanged(
        fold_constants.run,
        """input %x : f32[3]
           weight %w : f32[3] = "w"
           %a = neg(%w) : f32[3]
           %y = add(%x, %a) : f32[3]
           return %y""",
    )
