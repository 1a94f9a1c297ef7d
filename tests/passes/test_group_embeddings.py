from __future__ import annotations

import pytest

from dlrmc.ir.printer import print_graph
from dlrmc.passes import group_embeddings
from tests.passes.pass_case import check_pass, check_unchanged
from tests.passes.rule_case import graph_of


def test_bags_of_equal_width_are_one_group_in_the_order_of_their_reader() -> None:
    graph = check_pass(
        group_embeddings.run,
        """input %ids_0 : i64[7]
           input %off_0 : i64[3]
           input %ids_1 : i32[3,2]
           input %ids_2 : i32[9]
           input %off_2 : i64[4]
           input %scale : f32[9]
           weight %w_0 : f32[5,4] = "w0"
           weight %w_1 : f32[9,4] = "w1"
           %b_0 = embedding_bag(%w_0, %ids_0, %off_0) {mode=max} : f32[3,4]
           %b_1 = embedding_bag(%w_1, %ids_1) {padding_idx=2} : f32[3,4]
           %b_2 = embedding_bag(%w_0, %ids_2, %off_2, %scale) {include_last_offset=true} : f32[3,4]
           %y = cat(%b_1, %b_0, %b_2) {dim=1} : f32[3,12]
           return %y""",
        """input %ids_0 : i64[7]
           input %off_0 : i64[3]
           input %ids_1 : i32[3,2]
           input %ids_2 : i32[9]
           input %off_2 : i64[4]
           input %scale : f32[9]
           weight %w_0 : f32[5,4] = "w0"
           weight %w_1 : f32[9,4] = "w1"
           %bags = embedding_bag_group([%w_1, %w_0, %w_0], [%ids_1, %ids_0, %ids_2], [_, %off_0, %off_2], \
[_, _, %scale]) {modes=[sum,max,sum], include_last_offset=[false,false,true], padding_idx=[2,-1,-1]} : \
f32[3,3,4]
           %b_0 = select(%bags) {dim=1, index=1} : f32[3,4]
           %b_1 = select(%bags) {dim=1, index=0} : f32[3,4]
           %b_2 = select(%bags) {dim=1, index=2} : f32[3,4]
           %y = cat(%b_1, %b_0, %b_2) {dim=1} : f32[3,12]
           return %y""",
        {"groups": 1, "bags": 3},
    )
    assert graph.outputs[0].name == "y"


def test_other_widths_bag_counts_and_dtypes_are_other_groups() -> None:
    graph = graph_of("""input %a : i64[3,2]
                        input %b : i64[4,2]
                        weight %w : f32[9,4] = "w"
                        weight %v : f32[9,5] = "v"
                        weight %h : f16[9,4] = "h"
                        %w_a = embedding_bag(%w, %a) : f32[3,4]
                        %w_b = embedding_bag(%w, %b) : f32[4,4]
                        %v_a = embedding_bag(%v, %a) : f32[3,5]
                        %h_a = embedding_bag(%h, %a) : f16[3,4]
                        %w_c = embedding_bag(%w, %a) {mode=mean} : f32[3,4]
                        %v_c = embedding_bag(%v, %a) {mode=mean} : f32[3,5]
                        return %w_a, %w_b, %v_a, %h_a, %w_c, %v_c""")
    assert group_embeddings.run(graph).counts == {"groups": 2, "bags": 4}
    groups = [node for node in graph.nodes if node.is_op("embedding_bag_group")]
    assert [str(node.type) for node in groups] == ["f32[3,2,4]", "f32[3,2,5]"]


def test_quantised_bags_of_equal_width_and_bits_are_groups() -> None:
    graph = check_pass(
        group_embeddings.run,
        """input %a : i64[3,2]
           input %i : i64[7]
           input %o : i64[4]
           weight %w : u8[9,12] = "w"
           weight %v : u8[5,12] = "v"
           weight %n : u8[5,6] = "n"
           weight %m : u8[5,6] = "m"
           %w_a = quantized_embedding_bag(%w, %a) : f32[3,4]
           %n_a = quantized_embedding_bag(%n, %a) {bits=4} : f32[3,4]
           %v_i = quantized_embedding_bag(%v, %i, %o) {include_last_offset=true} : f32[3,4]
           %m_a = quantized_embedding_bag(%m, %a) {bits=4} : f32[3,4]
           return %w_a, %n_a, %v_i, %m_a""",
        """input %a : i64[3,2]
           input %i : i64[7]
           input %o : i64[4]
           weight %w : u8[9,12] = "w"
           weight %v : u8[5,12] = "v"
           weight %n : u8[5,6] = "n"
           weight %m : u8[5,6] = "m"
           %bags = quantized_embedding_bag_group([%w, %v], [%a, %i], [_, %o], []) \
{include_last_offset=[false,true]} : f32[3,2,4]
           %w_a = select(%bags) {dim=1, index=0} : f32[3,4]
           %bags_1 = quantized_embedding_bag_group([%n, %m], [%a, %a], [], []) {bits=4} : f32[3,2,4]
           %n_a = select(%bags_1) {dim=1, index=0} : f32[3,4]
           %v_i = select(%bags) {dim=1, index=1} : f32[3,4]
           %m_a = select(%bags_1) {dim=1, index=1} : f32[3,4]
           return %w_a, %n_a, %v_i, %m_a""",
        {"groups": 2, "bags": 4},
    )
    assert len(graph.outputs) == 4


def test_one_bag_is_no_group() -> None:
    check_unchanged(
        group_embeddings.run,
        """input %a : i64[3,2]
           weight %w : f32[9,4] = "w"
           %y = embedding_bag(%w, %a) : f32[3,4]
           return %y""",
    )


DEPENDENT = """input %a : i64[3,2]
               weight %w : f32[9,1] = "w"
               %x = embedding_bag(%w, %a) : f32[3,1]
               %n = abs(%x) : f32[3,1]
               %i = cast(%n) {to=i64} : i64[3,1]
               %y = embedding_bag(%w, %i) : f32[3,1]
               return %y"""


def test_a_bag_whose_ids_come_from_another_is_not_joined_with_it() -> None:
    check_unchanged(group_embeddings.run, DEPENDENT)


def test_two_groups_do_not_depend_on_each_other() -> None:
    """With a -> c and d -> b, joining (a, b) and then (c, d) would make a cycle."""
    graph = graph_of("""input %i : i64[3,2]
                        weight %w : f32[9,1] = "w"
                        weight %v : f32[9,2] = "v"
                        %a = embedding_bag(%w, %i) : f32[3,1]
                        %a_ids = cast(%a) {to=i64} : i64[3,1]
                        %c = embedding_bag(%v, %a_ids) : f32[3,2]
                        %d = embedding_bag(%v, %i) : f32[3,2]
                        %d_ids = cast(%d) {to=i64} : i64[3,2]
                        %b = embedding_bag(%w, %d_ids) : f32[3,1]
                        return %a, %b, %c, %d""")
    assert group_embeddings.run(graph).counts == {"groups": 1, "bags": 2}
    assert len(graph.nodes) > 0


@pytest.mark.parametrize(("bags", "sizes"), [(96, [96]), (98, [96, 2]), (97, [96])])
def test_a_group_fits_the_parameters_of_a_kernel(bags: int, sizes: list[int]) -> None:
    lines = ["input %i : i64[1,2]", 'weight %w : f32[9,1] = "w"']
    lines += [f"%b_{k} = embedding_bag(%w, %i) : f32[1,1]" for k in range(bags)]
    lines.append("return " + ", ".join(f"%b_{k}" for k in range(bags)))
    graph = graph_of("\n".join(lines))
    group_embeddings.run(graph)
    groups = [node for node in graph.nodes if node.is_op("embedding_bag_group")]
    assert [node.shape[1] for node in groups] == sizes
    assert "%b_95 = select(%bags) {dim=1, index=95}" in print_graph(graph)
