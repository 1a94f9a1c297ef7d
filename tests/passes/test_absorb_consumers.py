from __future__ import annotations

from dlrmc.passes import absorb_consumers
from tests.passes.pass_case import check_pass, check_unchanged

ROWS = """input %d : f32[2,4]
          input %g : f32[2,3,4]
          weight %w : f32[1,16] = "w"
          %r_0 = select(%g) {dim=1, index=0} : f32[2,4]
          %r_1 = select(%g) {dim=1, index=1} : f32[2,4]
          %r_2 = select(%g) {dim=1, index=2} : f32[2,4]
"""
HEAD = """input %d : f32[2,4]
          input %g : f32[2,3,4]
"""


def test_pairwise_dot_takes_the_whole_value() -> None:
    check_pass(
        absorb_consumers.run,
        ROWS + "%y = pairwise_dot(%d, %r_0, %r_1, %r_2) {pairs=upper} : f32[2,10]\nreturn %y",
        HEAD + "%y = pairwise_dot(%d, %g) {pairs=upper} : f32[2,10]\nreturn %y",
        {"rows": 3},
    )


def test_pairwise_dot_takes_a_part_of_the_value() -> None:
    check_pass(
        absorb_consumers.run,
        ROWS + "%y = pairwise_dot(%r_1, %r_2, %d, %r_0) : f32[2,6]\nreturn %y",
        HEAD
        + """%r_0 = select(%g) {dim=1, index=0} : f32[2,4]
             %slice = slice(%g) {dim=1, start=1, stop=3} : f32[2,2,4]
             %y = pairwise_dot(%slice, %d, %r_0) : f32[2,6]
             return %y""",
        {"rows": 2},
    )


def test_linear_takes_rows_side_by_side() -> None:
    check_pass(
        absorb_consumers.run,
        ROWS + "%y = linear([%d, %r_0, %r_1, %r_2], %w) {act=relu} : f32[2,1]\nreturn %y",
        HEAD
        + """weight %w : f32[1,16] = "w"
             %view = view(%g) {shape=[2,12]} : f32[2,12]
             %y = linear([%d, %view], %w) {act=relu} : f32[2,1]
             return %y""",
        {"rows": 3},
    )


def test_a_cat_of_all_rows_is_a_view() -> None:
    check_pass(
        absorb_consumers.run,
        ROWS + "%y = cat(%r_0, %r_1, %r_2) {dim=1} : f32[2,12]\nreturn %y",
        HEAD + "%y = view(%g) {shape=[2,12]} : f32[2,12]\nreturn %y",
        {"rows": 3},
    )


def test_a_stack_of_all_rows_is_the_value() -> None:
    stack = """%v_0 = view(%r_0) {shape=[2,1,4]} : f32[2,1,4]
               %v_1 = view(%r_1) {shape=[2,1,4]} : f32[2,1,4]
               %v_2 = view(%r_2) {shape=[2,1,4]} : f32[2,1,4]
               %s = cat(%v_0, %v_1, %v_2) {dim=1} : f32[2,3,4]
               %y = sum(%s) {dims=[1]} : f32[2,4]
               return %y"""
    check_pass(
        absorb_consumers.run,
        ROWS + stack,
        HEAD + "%y = sum(%g) {dims=[1]} : f32[2,4]\nreturn %y",
        {"rows": 3},
    )


def test_rows_in_another_order_or_along_another_dimension_stay() -> None:
    check_unchanged(
        absorb_consumers.run,
        ROWS
        + """%s = select(%g) {dim=0, index=0} : f32[3,4]
             %t = select(%g) {dim=0, index=1} : f32[3,4]
             %y = cat(%r_2, %r_1, %r_0) {dim=1} : f32[2,12]
             %z = cat(%r_0, %r_1) {dim=0} : f32[4,4]
             %u = cat(%s, %t) {dim=1} : f32[3,8]
             %v = pairwise_dot(%r_0, %r_0) : f32[2,1]
             return %y, %z, %u, %v, %w""",
    )
