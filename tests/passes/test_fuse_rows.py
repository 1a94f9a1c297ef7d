from __future__ import annotations

import networkx as nx
import pytest

from dlrmc.ir.graph import Graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.verify import verify
from dlrmc.passes import assemble
from dlrmc.passes.form_kernels import POINTERS_MAX
from dlrmc.passes.fuse_rows import fuse_rows
from dlrmc.passes.layer_cost import LARGEST_WEIGHT_BYTES, SMALL_WEIGHT_BYTES
from dlrmc.passes.row_runs import LARGEST_ROW_BYTES
from tests.passes.feeds import assert_same_meaning
from tests.passes.pass_case import check_pass, check_unchanged
from tests.passes.rule_case import graph_of


def programs(graph: Graph) -> list[list[str]]:
    """The ops in each row program, by program."""
    return [
        [inner.op.name for inner in node.body.nodes if not inner.is_op("input")]
        for node in graph.nodes
        if node.is_op("kernel")
    ]


def fused(before: str) -> Graph:
    """The graph after the pass, checked to be verified and to mean the same."""
    old, graph = graph_of(before), graph_of(before)
    fuse_rows(graph)
    verify(graph)
    assert_same_meaning(old, graph)
    return graph


def test_a_chain_becomes_one_row_program():
    check_pass(
        fuse_rows,
        """
        input %x : f32[8,3]
        weight %w : f32[4,3] = "w"
        %a = linear(%x, %w) {act=relu} : f32[8,4]
        %b = sum(%a) {dims=[1], keepdim=true} : f32[8,1]
        return %b
        """,
        """
        input %x : f32[8,3]
        weight %w : f32[4,3] = "w"
        %b = kernel row_program<batch=8>(%x, %w) {
          %a = linear(%x, %w) {act=relu} : f32[8,4]
          %b = sum(%a) {dims=[1], keepdim=true} : f32[8,1]
          yield %b
        } : f32[8,1]
        return %b
        """,
        {"row_program": 1},
    )


def test_several_outputs_are_items():
    check_pass(
        fuse_rows,
        """
        input %x : f32[8,3]
        %a = relu(%x) : f32[8,3]
        %b = neg(%a) : f32[8,3]
        %c = sum(%b) {dims=[0]} : f32[3]
        return %a, %c, %b
        """,
        """
        input %x : f32[8,3]
        %case_rows = kernel row_program<batch=8>(%x) {
          %a = relu(%x) : f32[8,3]
          %b = neg(%a) : f32[8,3]
          yield %a, %b
        } : (f32[8,3], f32[8,3])
        %a = item(%case_rows) {index=0} : f32[8,3]
        %b = item(%case_rows) {index=1} : f32[8,3]
        %c = sum(%b) {dims=[0]} : f32[3]
        return %a, %c, %b
        """,
        {"row_program": 1},
    )


def test_a_view_that_others_read_stays_outside_and_its_root_is_yielded():
    check_pass(
        fuse_rows,
        """
        input %x : f32[8,6]
        %a = relu(%x) : f32[8,6]
        %b = neg(%a) : f32[8,6]
        %v = view(%b) {shape=[8,2,3]} : f32[8,2,3]
        %s = sum(%v) {dims=[0]} : f32[2,3]
        return %s
        """,
        """
        input %x : f32[8,6]
        %b = kernel row_program<batch=8>(%x) {
          %a = relu(%x) : f32[8,6]
          %b = neg(%a) : f32[8,6]
          yield %b
        } : f32[8,6]
        %v = view(%b) {shape=[8,2,3]} : f32[8,2,3]
        %s = sum(%v) {dims=[0]} : f32[2,3]
        return %s
        """,
        {"row_program": 1},
    )


def test_a_returned_view_is_yielded_itself():
    graph = fused("""
        input %x : f32[8,6]
        %a = relu(%x) : f32[8,6]
        %b = neg(%a) : f32[8,6]
        %v = view(%b) {shape=[8,2,3]} : f32[8,2,3]
        return %v
    """)
    assert programs(graph) == [["relu", "neg", "view"]]
    assert graph.outputs[0].is_op("kernel")


ACROSS = """
input %x : f32[8,3]
%a = relu(%x) : f32[8,3]
%b = neg(%a) : f32[8,3]
%all = sum(%b) {dims=[0], keepdim=true} : f32[1,3]
%wide = expand(%all) {shape=[8,3]} : f32[8,3]
%c = add(%b, %wide) : f32[8,3]
%d = mul(%c, %a) : f32[8,3]
return %d
"""


def test_a_later_region_absorbs_its_views_of_an_earlier_one():
    graph = fused(
        f"""
        input %x : f32[8,4]
        weight %w : f32[{LARGEST_WEIGHT_BYTES // 16 + 8},4] = "w"
        weight %v : f32[4,{LARGEST_WEIGHT_BYTES // 16 + 8}] = "v"
        %a = exp(%x) : f32[8,4]
        %b = sin(%a) : f32[8,4]
        %t = view(%b) {{shape=[8,2,2]}} : f32[8,2,2]
        %m = linear(%b, %w) : f32[8,{LARGEST_WEIGHT_BYTES // 16 + 8}]
        %n = linear(%m, %v) : f32[8,4]
        %u = view(%n) {{shape=[8,2,2]}} : f32[8,2,2]
        %y = add(%u, %t) : f32[8,2,2]
        %z = relu(%y) : f32[8,2,2]
        return %z
        """
    )
    assert programs(graph) == [["exp", "sin"], ["view", "view", "add", "relu"]]
    assert [node.op.name for node in graph.nodes if node.is_op("view")] == []


def test_a_view_that_is_returned_and_read_later_is_read_as_it_was_returned():
    graph = fused(
        f"""
        input %x : f32[8,4]
        weight %w : f32[{LARGEST_WEIGHT_BYTES // 16 + 8},4] = "w"
        weight %v : f32[4,{LARGEST_WEIGHT_BYTES // 16 + 8}] = "v"
        %a = exp(%x) : f32[8,4]
        %b = sin(%a) : f32[8,4]
        %t = view(%b) {{shape=[8,2,2]}} : f32[8,2,2]
        %m = linear(%b, %w) : f32[8,{LARGEST_WEIGHT_BYTES // 16 + 8}]
        %n = linear(%m, %v) : f32[8,4]
        %u = view(%n) {{shape=[8,2,2]}} : f32[8,2,2]
        %y = add(%u, %t) : f32[8,2,2]
        %z = relu(%y) : f32[8,2,2]
        return %z, %t
        """
    )
    assert programs(graph) == [["exp", "sin", "view"], ["view", "add", "relu"]]


def test_what_reads_more_operands_than_a_kernel_takes_leaves_the_program():
    count = POINTERS_MAX // 2
    lists = [", ".join(f"%{kind}_{n}" for n in range(count)) for kind in "woi"]
    names = [
        *(f"input %o_{n} : i64[4]\ninput %i_{n} : i64[9]" for n in range(count)),
        *(f'weight %w_{n} : f32[7,2] = "w_{n}"' for n in range(count)),
    ]
    text = "\n".join(names)
    graph = fused(
        f"""
        {text}
        %bags = embedding_bag_group([{lists[0]}], [{lists[2]}], [{lists[1]}], []) : f32[4,{count},2]
        %s = sum(%bags) {{dims=[1]}} : f32[4,2]
        %y = exp(%s) : f32[4,2]
        return %y
        """
    )
    assert programs(graph) == [["sum", "exp"]]


GATHER = """
    input %x : f32[{batch},8]
    input %ids : i64[{batch},{bag}]
    weight %t : f32[100,64] = "t"
    weight %u : f32[100,64] = "u"
    weight %v : f32[64,8] = "v"
    %h = linear(%x, %v) {{act=relu}} : f32[{batch},64]
    %e = sin(%h) : f32[{batch},64]
    %bags = embedding_bag_group([%t, %u], [%ids, %ids], [], []) : f32[{batch},2,64]
    %flat = view(%bags) {{shape=[{batch},128]}} : f32[{batch},128]
    %c = cat(%e, %flat) {{dim=1}} : f32[{batch},192]
    {reader}
    return %y
"""
# 2 tables x 40 ids x 256 bytes x 512 requests are 10 MB, of which 256 KB of bags are made.
LONG = {"batch": 512, "bag": 40}
BY_ROWS = "%y = exp(%c) : f32[{batch},192]"
BY_ALL = "%y = sum(%c) {{dims=[0]}} : f32[192]"


def test_long_bags_have_a_kernel_of_their_own_and_the_rest_is_fused():
    graph = fused(GATHER.format(reader=BY_ROWS.format(**LONG), **LONG))
    assert sorted({op for program in programs(graph) for op in program} - {"view"}) == [
        "cat",
        "exp",
        "linear",
        "sin",
    ]
    assert any(node.is_op("embedding_bag_group") for node in graph.nodes)


def test_a_cat_that_would_only_copy_long_bags_is_left_to_assemble():
    graph = fused(GATHER.format(reader=BY_ALL.format(), **LONG))
    assert programs(graph) == [["linear", "sin"]]
    assert assemble.run(graph).counts == {"assembled": 1}


@pytest.mark.parametrize("sizes", [{"batch": 512, "bag": 3}, {"batch": 4, "bag": 40}])
def test_bags_that_are_short_or_few_are_fused(sizes):
    graph = fused(GATHER.format(reader=BY_ROWS.format(**sizes), **sizes))
    (program,) = programs(graph)
    assert "embedding_bag_group" in program


def test_what_comes_after_a_mix_of_rows_is_a_later_region():
    graph = fused(ACROSS)
    # %c reads what depends on all rows, from a buffer: what comes after it is a program of its own.
    assert programs(graph) == [["relu", "neg"], ["add", "mul"]]


def test_a_region_too_wide_for_a_tile_is_cut_into_several():
    width = LARGEST_ROW_BYTES // 8
    graph = fused(
        f"""
        input %x : f32[8,{width}]
        %a = exp(%x) : f32[8,{width}]
        %b = sin(%a) : f32[8,{width}]
        %c = abs(%b) : f32[8,{width}]
        %d = neg(%c) : f32[8,{width}]
        %y = mul(%d, %a) : f32[8,{width}]
        return %y
        """
    )
    # Up to `sin` two values live, at `abs` three.
    assert programs(graph) == [["exp", "sin"], ["abs", "neg", "mul"]]
    assert nx.is_directed_acyclic_graph(graph.digraph)


def test_a_large_layer_cuts_the_region_in_two_and_no_path_comes_back():
    rows = LARGEST_WEIGHT_BYTES // 4 // 64 + 1
    graph = fused(f"""
        input %x : f32[8,64]
        weight %w : f32[{rows},64] = "w"
        weight %v : f32[64,{rows}] = "v"
        %a = relu(%x) : f32[8,64]
        %b = neg(%a) : f32[8,64]
        %big = linear(%b, %w) : f32[8,{rows}]
        %c = relu(%big) : f32[8,{rows}]
        %s = sum(%c) {{dims=[1], keepdim=true}} : f32[8,1]
        %d = add(%a, %s) : f32[8,64]
        return %d
    """)
    assert programs(graph) == [["relu", "neg"], ["sum", "add"]]
    # %c is left to the epilogue of the layer.
    assert [node.op.name for node in graph.nodes if node.is_op("linear", "relu")] == ["linear", "relu"]
    assert nx.is_directed_acyclic_graph(graph.digraph)


def test_a_small_layer_is_fused():
    rows = SMALL_WEIGHT_BYTES // 4 // 64
    graph = fused(f"""
        input %x : f32[8,64]
        weight %w : f32[{rows},64] = "w"
        weight %bias : f32[{rows}] = "b"
        %a = relu(%x) : f32[8,64]
        %b = linear(%a, %w, %bias) : f32[8,{rows}]
        return %b
    """)
    assert programs(graph) == [["relu", "slice", "linear"]]


def test_ids_that_are_computed_stand_outside_of_the_bags_that_read_them():
    graph = fused("""
        input %ids : f32[8]
        input %off : i64[8]
        weight %t : f32[5,4] = "t"
        %i = cast(%ids) {to=i64} : i64[8]
        %bag = embedding_bag(%t, %i, %off) : f32[8,4]
        %r = relu(%bag) : f32[8,4]
        return %r
    """)
    assert programs(graph) == [["embedding_bag", "relu"]]
    assert graph.find("i").is_op("cast")


def test_bags_and_their_readers_are_one_program_with_ids_and_offsets_as_operands():
    graph = fused("""
        input %x : f32[8,4]
        input %i : i64[20]
        input %off : i64[8]
        weight %t : f32[5,4] = "t"
        %bag = embedding_bag(%t, %i, %off) : f32[8,4]
        %dots = pairwise_dot(%x, %bag) : f32[8,1]
        return %dots
    """)
    (program,) = [node for node in graph.nodes if node.is_op("kernel")]
    assert [node.name for node in program.inputs] == ["t", "i", "off", "x"]


def test_what_reads_a_value_computed_from_weights_alone_is_not_fused():
    """derive-weights leaves such values where they are large; their rows are not those of the batch."""
    graph = fused("""
        input %x : f32[8,4]
        weight %w : f32[8,4] = "w"
        %u = exp(%w) : f32[8,4]
        %a = relu(%x) : f32[8,4]
        %b = neg(%a) : f32[8,4]
        %y = linear(%b, %u) : f32[8,8]
        return %y
    """)
    assert programs(graph) == [["relu", "neg"]]


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f64"])
def test_other_floats_than_f32_have_kernels_of_their_own(dtype: str):
    graph = fused(f"""
        input %x : f32[8,4]
        %a = relu(%x) : f32[8,4]
        %b = neg(%a) : f32[8,4]
        %c = cast(%b) {{to={dtype}}} : {dtype}[8,4]
        %d = exp(%c) : {dtype}[8,4]
        %e = cast(%d) {{to=f32}} : f32[8,4]
        return %e
    """)
    assert programs(graph) == [["relu", "neg"]]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_bags_of_16_bits_are_fused_up_to_their_cast(dtype: str):
    graph = fused(f"""
        input %ids : i64[9]
        input %off : i64[8]
        weight %w : {dtype}[7,4] = "w"
        %b = embedding_bag(%w, %ids, %off) : {dtype}[8,4]
        %v = view(%b) {{shape=[8,2,2]}} : {dtype}[8,2,2]
        %c = cast(%v) {{to=f32}} : f32[8,2,2]
        %y = exp(%c) : f32[8,2,2]
        %z = neg(%v) : {dtype}[8,2,2]
        return %y, %z
    """)
    assert programs(graph) == [["embedding_bag", "view", "cast", "exp"]]


def test_rows_of_a_product_over_the_batch_are_not_fused():
    graph = fused("""
        input %x : f32[8,8]
        weight %w : f32[8,8] = "w"
        %a = relu(%x) : f32[8,8]
        %b = neg(%a) : f32[8,8]
        %c = mm(%w, %b) : f32[8,8]
        return %c
    """)
    assert programs(graph) == [["relu", "neg"]]
    assert graph.outputs[0].is_op("mm")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("input %x : f32[8,3] return %x", id="nothing"),
        pytest.param("input %x : f32[8,3]\n%a = relu(%x) : f32[8,3]\nreturn %a", id="one op"),
        pytest.param(
            "input %x : f32[8,6]\n%a = relu(%x) : f32[8,6]\n%v = view(%a) {shape=[8,2,3]} : f32[8,2,3]\n"
            "return %v",
            id="one op and a view",
        ),
        pytest.param(
            "input %x : f32[8,3]\n%a = relu(%x) : f32[8,3]\n%b = neg(%a) : f32[8,3]\nreturn", id="unread"
        ),
        pytest.param(
            "weight %w : f32[8,3] = \"w\"\n%a = relu(%w) : f32[8,3]\n%b = neg(%a) : f32[8,3]\nreturn %b",
            id="weights only",
        ),
        pytest.param(
            "input %x : f32[8,0]\n%a = relu(%x) : f32[8,0]\n%b = neg(%a) : f32[8,0]\nreturn %b", id="empty"
        ),
        pytest.param(
            f"input %x : f32[8,{LARGEST_ROW_BYTES // 8 + 1}]\n"
            f"%a = relu(%x) : f32[8,{LARGEST_ROW_BYTES // 8 + 1}]\n"
            f"%b = neg(%a) : f32[8,{LARGEST_ROW_BYTES // 8 + 1}]\nreturn %b",
            id="wide rows",
        ),
    ],
)  # fmt: skip
def test_not_worth_it(body: str):
    check_unchanged(fuse_rows, body.replace("] return", "]\nreturn"))


def test_a_second_run_changes_nothing():
    graph = graph_of(ACROSS)
    fuse_rows(graph)
    text = print_graph(graph)
    assert fuse_rows(graph).changes == 0
    assert print_graph(graph) == text


MLP = """
input %x : f32[{batch},13]
input %i : i64[{batch}]
weight %t : f32[1000,128] = "t"
weight %w1 : f32[512,13] = "w1"
weight %w2 : f32[192,512] = "w2"
weight %w3 : f32[128,192] = "w3"
%a = linear(%x, %w1) {{act=relu}} : f32[{batch},512]
%b = linear(%a, %w2) {{act=relu}} : f32[{batch},192]
%c = linear(%b, %w3) {{act=relu}} : f32[{batch},128]
%e = embedding(%t, %i) : f32[{batch},128]
%d = pairwise_dot(%c, %e) : f32[{batch},1]
return %d
"""


def test_a_layer_that_many_tiles_would_read_has_a_kernel_of_its_own():
    graph = graph_of(MLP.format(batch=2048))
    fuse_rows(graph)
    verify(graph)
    assert programs(graph) == [["slice", "linear", "embedding", "pairwise_dot"]]
    assert [node.name for node in graph.nodes if node.is_op("linear")] == ["a", "b"]


def test_few_rows_leave_the_layers_where_they_are():
    graph = graph_of(MLP.format(batch=1))
    fuse_rows(graph)
    assert [len(set(program) - {"slice"}) for program in programs(graph)] == [3]
    assert not any(node.is_op("linear") for node in graph.nodes)


def test_what_only_a_later_region_reads_is_computed_there():
    """The lookup stands before the large layer in the program; its rows are not stored between kernels."""
    graph = fused(f"""
        input %x : f32[8,4]
        input %i : i64[8]
        weight %t : f32[5,4] = "t"
        weight %w : f32[{LARGEST_WEIGHT_BYTES // 16 + 8},4] = "w"
        weight %v : f32[4,{LARGEST_WEIGHT_BYTES // 16 + 8}] = "v"
        %e = embedding(%t, %i) : f32[8,4]
        %n = neg(%e) : f32[8,4]
        %a = exp(%x) : f32[8,4]
        %b = sin(%a) : f32[8,4]
        %m = linear(%b, %w) : f32[8,{LARGEST_WEIGHT_BYTES // 16 + 8}]
        %o = linear(%m, %v) : f32[8,4]
        %y = add(%o, %n) : f32[8,4]
        return %y
    """)
    assert programs(graph) == [["exp", "sin"], ["embedding", "neg", "add"]]


def test_ids_shown_by_a_view_of_a_single_request_stay_outside():
    graph = fused(
        """
        input %ids : i64[2,3]
        input %offsets : i64[2,1]
        input %x : f32[1,4]
        weight %w : f32[9,4] = "w"
        %i = select(%ids) {dim=0, index=1} : i64[3]
        %o = select(%offsets) {dim=0, index=1} : i64[1]
        %bags = embedding_bag(%w, %i, %o) : f32[1,4]
        %y = mul(%bags, %x) : f32[1,4]
        %z = softmax(%y) {dim=1} : f32[1,4]
        return %z
        """
    )
    assert programs(graph) == [["embedding_bag", "mul", "softmax"]]
