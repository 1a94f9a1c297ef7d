"""What several rules make of a program together, and fires that would be wrong."""

from __future__ import annotations

import pytest

from dlrmc.ir.graph import Graph
from dlrmc.passes import cse, dce
from dlrmc.passes.engine import apply_rules
from dlrmc.passes.peepholes import ALL_RULES
from tests.passes.feeds import assert_same_meaning
from tests.passes.rule_case import graph_of


def rewritten(body: str) -> Graph:
    before, graph = graph_of(body), graph_of(body)
    cse.run(graph)
    apply_rules(graph, ALL_RULES, checked=True)
    dce.run(graph)
    assert_same_meaning(before, graph)
    return graph


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if not node.is_op("input", "weight", "const")]


def test_a_batch_norm_after_a_linear_goes_into_its_weight_and_bias() -> None:
    graph = rewritten("""input %x : f32[5,3]
                         weight %w : f32[4,3] = "w"
                         weight %b : f32[4] = "b"
                         weight %mean : f32[4] = "mean"
                         weight %scale : f32[4] = "scale"
                         weight %bias : f32[4] = "bias"
                         %l = linear(%x, %w, %b) : f32[5,4]
                         %m = mul(%mean, %scale) : f32[4]
                         %shift = sub(%bias, %m) : f32[4]
                         %n = mul(%l, %scale) : f32[5,4]
                         %a = add(%n, %shift) : f32[5,4]
                         %y = relu(%a) : f32[5,4]
                         return %y""")
    runtime = [node for node in graph.nodes if graph.depends_on(node, graph.inputs[0])]
    assert [node.op.name for node in runtime] == ["input", "linear"]
    assert graph.outputs[0].attributes.str("act") == "relu"


def test_a_16_bit_weight_is_not_scaled() -> None:
    graph = rewritten("""input %x : bf16[5,3]
                         weight %w : bf16[4,3] = "w"
                         weight %s : bf16[4] = "s"
                         %l = linear(%x, %w) : bf16[5,4]
                         %y = mul(%l, %s) : bf16[5,4]
                         return %y""")
    assert ops(graph) == ["linear", "mul"]


def test_a_matmul_as_core_writes_it_is_one_linear() -> None:
    """Rank 3: view, addmm of a transposed weight, view, activation."""
    graph = rewritten("""input %x : f32[2,5,3]
                         weight %w : f32[4,3] = "w"
                         weight %b : f32[4] = "b"
                         %v = view(%x) {shape=[10,3]} : f32[10,3]
                         %t = permute(%w) {perm=[1,0]} : f32[3,4]
                         %a = addmm(%b, %v, %t) : f32[10,4]
                         %u = view(%a) {shape=[2,5,4]} : f32[2,5,4]
                         %s = sigmoid(%u) : f32[2,5,4]
                         %y = mul(%u, %s) : f32[2,5,4]
                         return %y""")
    assert ops(graph) == ["linear"]
    assert graph.outputs[0].attributes.str("act") == "silu"


GRAM = """input %x : f32[2,5]
          input %e : f32[2,3,5]
          const %i : i64[6] = [1,2,2,3,3,3]
          const %j : i64[6] = [0,0,1,0,1,2]
          %v = view(%x) {shape=[2,1,5]} : f32[2,1,5]
          %t = cat(%v, %e) {dim=1} : f32[2,4,5]
          %tt = permute(%t) {perm=[0,2,1]} : f32[2,5,4]
          %z = bmm(%t, %tt) : f32[2,4,4]
          %p = index(%z, _, %i, %j) : f32[2,6]
"""


def test_the_triangle_of_a_gram_matrix_reads_the_features_where_they_are() -> None:
    graph = rewritten(GRAM + "return %p")
    assert ops(graph) == ["pairwise_dot"]
    assert [operand.name for operand in graph.outputs[0].inputs] == ["x", "e"]


@pytest.mark.parametrize(
    "more",
    [
        "return %p, %z",
        "%r = relu(%z) : f32[2,4,4]\nreturn %p, %r",
        "const %k : i64[2] = [1,3]\n%r = index(%z, _, %k) : f32[2,2,4]\nreturn %p, %r",
    ],
)
def test_a_gram_matrix_that_is_also_used_elsewhere_is_made(more: str) -> None:
    graph = rewritten(GRAM + more)
    assert "pairwise_dot" not in ops(graph)
    assert "bmm" in ops(graph)


def test_features_that_are_also_used_elsewhere_are_made_once() -> None:
    graph = rewritten(GRAM + "%s = sum(%t) {dims=[1]} : f32[2,5]\nreturn %p, %s")
    assert ops(graph).count("cat") == 1
    [dots] = [node for node in graph.nodes if node.is_op("pairwise_dot")]
    assert [operand.op.name for operand in dots.inputs] == ["cat"]


@pytest.mark.parametrize(
    ("i", "j"),
    [
        ("[2,1,2,3,3,3]", "[0,0,1,0,1,2]"),  # shuffled
        ("[1,2,2,3,3,3]", "[0,0,1,0,1,1]"),  # a pair twice
        ("[1,2,2,3,3,3]", "[0,0,2,0,1,2]"),  # one of the diagonal
    ],
)
def test_other_lists_of_the_right_length_are_no_triangle(i: str, j: str) -> None:
    assert "pairwise_dot" not in ops(rewritten(with_pairs(i, j)))


def test_the_lower_triangle_by_columns_is_the_upper_one_by_rows() -> None:
    graph = rewritten(with_pairs("[1,2,3,2,3,3]", "[0,0,0,1,1,2]"))
    assert ops(graph) == ["pairwise_dot"]
    assert graph.outputs[0].attributes.str("pairs") == "strict_upper"


def with_pairs(i: str, j: str) -> str:
    body = GRAM.replace("%i : i64[6] = [1,2,2,3,3,3]", f"%i : i64[6] = {i}")
    return body.replace("%j : i64[6] = [0,0,1,0,1,2]", f"%j : i64[6] = {j}") + "return %p"
