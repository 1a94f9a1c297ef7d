from __future__ import annotations

from dlrmc.passes import derive_weights
from tests.passes.pass_case import check_pass, check_unchanged


def test_a_maximal_subgraph_is_one_derive() -> None:
    check_pass(
        derive_weights.run,
        """input %x : f32[5,3]
           weight %w : f32[4,3] = "w"
           weight %s : f32[4] = "s"
           const %one : f32[] = 1.0
           %a = add(%s, %one) : f32[4]
           %b = view(%a) {shape=[4,1]} : f32[4,1]
           %c = mul(%w, %b) : f32[4,3]
           %y = linear(%x, %c) : f32[5,4]
           return %y""",
        """input %x : f32[5,3]
           weight %w : f32[4,3] = "w"
           weight %s : f32[4] = "s"
           %c = derive(%w, %s) {
             const %one : f32[] = 1.0
             %a = add(%s, %one) : f32[4]
             %b = view(%a) {shape=[4,1]} : f32[4,1]
             %c = mul(%w, %b) : f32[4,3]
             yield %c
           } : f32[4,3]
           %y = linear(%x, %c) : f32[5,4]
           return %y""",
        {"derived": 1},
    )


def test_plain_views_of_a_weight_stay_views() -> None:
    check_unchanged(
        derive_weights.run,
        """input %x : f32[5,3]
           weight %w : f32[3,8] = "w"
           %t = permute(%w) {perm=[1,0]} : f32[8,3]
           %s = slice(%t) {dim=0, start=2, stop=6} : f32[4,3]
           %y = linear(%x, %s) : f32[5,4]
           return %y""",
    )


def test_views_of_a_computed_value_stay_outside_and_share_it() -> None:
    check_pass(
        derive_weights.run,
        """input %x : f32[4]
           weight %w : f32[4,3] = "w"
           %n = neg(%w) : f32[4,3]
           %a = select(%n) {dim=1, index=0} : f32[4]
           %b = select(%n) {dim=1, index=2} : f32[4]
           %y = add(%x, %a) : f32[4]
           %z = add(%y, %b) : f32[4]
           return %z""",
        """input %x : f32[4]
           weight %w : f32[4,3] = "w"
           %n = derive(%w) {
             %n = neg(%w) : f32[4,3]
             yield %n
           } : f32[4,3]
           %a = select(%n) {dim=1, index=0} : f32[4]
           %b = select(%n) {dim=1, index=2} : f32[4]
           %y = add(%x, %a) : f32[4]
           %z = add(%y, %b) : f32[4]
           return %z""",
        {"derived": 1},
    )


def test_a_view_that_cuts_across_strides_is_a_copy_and_is_derived() -> None:
    check_pass(
        derive_weights.run,
        """input %x : f32[12]
           weight %w : f32[4,3] = "w"
           %t = permute(%w) {perm=[1,0]} : f32[3,4]
           %v = view(%t) {shape=[12]} : f32[12]
           %y = add(%x, %v) : f32[12]
           return %y""",
        """input %x : f32[12]
           weight %w : f32[4,3] = "w"
           %v = derive(%w) {
             %t = permute(%w) {perm=[1,0]} : f32[3,4]
             %v = view(%t) {shape=[12]} : f32[12]
             yield %v
           } : f32[12]
           %y = add(%x, %v) : f32[12]
           return %y""",
        {"derived": 1},
    )


def test_one_derived_value_is_the_operand_of_another() -> None:
    check_pass(
        derive_weights.run,
        """input %x : f32[3]
           weight %w : f32[3] = "w"
           %a = neg(%w) : f32[3]
           %b = exp(%a) : f32[3]
           %y = add(%x, %a) : f32[3]
           %z = add(%y, %b) : f32[3]
           return %z""",
        """input %x : f32[3]
           weight %w : f32[3] = "w"
           %a = derive(%w) {
             %a = neg(%w) : f32[3]
             yield %a
           } : f32[3]
           %b = derive(%a) {
             %b = exp(%a) : f32[3]
             yield %b
           } : f32[3]
           %y = add(%x, %a) : f32[3]
           %z = add(%y, %b) : f32[3]
           return %z""",
        {"derived": 2},
    )


def test_an_output_of_weights_only_is_derived() -> None:
    check_pass(
        derive_weights.run,
        """weight %w : f32[3] = "w"
           %a = neg(%w) : f32[3]
           return %a, %w""",
        """weight %w : f32[3] = "w"
           %a = derive(%w) {
             %a = neg(%w) : f32[3]
             yield %a
           } : f32[3]
           return %a, %w""",
        {"derived": 1},
    )


def test_a_small_computed_table_is_derived_and_a_large_one_is_not() -> None:
    body = """input %ids : i64[5]
              weight %w : f32[ROWS,128] = "w"
              %n = neg(%w) : f32[ROWS,128]
              %y = embedding(%n, %ids) : f32[5,128]
              return %y"""
    check_pass(
        derive_weights.run,
        body.replace("ROWS", "9"),
        """input %ids : i64[5]
           weight %w : f32[9,128] = "w"
           %n = derive(%w) {
             %n = neg(%w) : f32[9,128]
             yield %n
           } : f32[9,128]
           %y = embedding(%n, %ids) : f32[5,128]
           return %y""",
        {"derived": 1},
    )
    check_unchanged(derive_weights.run, body.replace("ROWS", "1000000"))
