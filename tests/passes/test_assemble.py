from __future__ import annotations

from dlrmc.passes import assemble
from tests.passes.pass_case import check_pass, check_unchanged

HEAD = """input %x : f32[2,3]
          weight %a : f32[4,3] = "a"
          weight %b : f32[5,3] = "b"
          %y = linear(%x, %a) : f32[2,4]
          %z = linear(%x, %b) : f32[2,5]
"""


def test_a_cat_of_kernels_results_is_written_by_the_kernels() -> None:
    check_pass(
        assemble.run,
        HEAD + "%c = cat(%y, %z) {dim=1} : f32[2,9]\nreturn %c",
        HEAD + "%c = assemble(%y, %z) {dim=1} : f32[2,9]\nreturn %c",
        {"assembled": 1},
    )


def test_a_part_that_is_an_input_or_is_read_elsewhere_needs_a_copy() -> None:
    check_unchanged(assemble.run, HEAD + "%c = cat(%y, %x) {dim=1} : f32[2,7]\nreturn %c, %z")
    check_unchanged(assemble.run, HEAD + "%c = cat(%y, %z) {dim=1} : f32[2,9]\nreturn %c, %z")
    check_unchanged(assemble.run, HEAD + "%c = cat(%y, %y) {dim=1} : f32[2,8]\nreturn %c, %z")


BAGS = """input %x : f32[2,3]
          input %i : i64[2,4]
          weight %t : f32[9,5] = "t"
          weight %a : f32[4,3] = "a"
          %y = linear(%x, %a) : f32[2,4]
          %b = embedding_bag_group([%t, %t], [%i, %i], [], []) : f32[2,2,5]
          %v = view(%b) {shape=[2,10]} : f32[2,10]
"""


def test_a_view_of_what_a_kernel_makes_is_written_where_it_is_wanted() -> None:
    check_pass(
        assemble.run,
        BAGS + "%c = cat(%y, %v) {dim=1} : f32[2,14]\nreturn %c",
        BAGS + "%c = assemble(%y, %v) {dim=1} : f32[2,14]\nreturn %c",
        {"assembled": 1},
    )


def test_a_view_of_what_is_also_read_in_another_shape_is_copied() -> None:
    check_unchanged(assemble.run, BAGS + "%c = cat(%y, %v) {dim=1} : f32[2,14]\nreturn %c, %b")
