from __future__ import annotations

from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.verify import verify
from dlrmc.passes.round_factors import is_rounded, round_factors

# Kernels %a and %b; what else reads %a, and what is returned, is the test's.
HEAD = """graph @g {
  input %x : f32[4,8]
  weight %w : f32[8,8] = "w"
  weight %v : f32[8,8] = "v"
  %a = kernel linear(%x, %w) {
    %y = linear(%x, %w) {act=relu} : f32[4,8]
    yield %y
  } : f32[4,8]
  %b = kernel linear(%a, %v) {
    %y = linear(%a, %v) : f32[4,8]
    yield %y
  } : f32[4,8]
"""


def graph_with(tail: str) -> Graph:
    return parse_graph(HEAD + tail + "\n}\n")


def factors_of(graph: Graph, **places: tuple[int, ...]) -> dict:
    return {graph.find(name): found for name, found in places.items()}


def test_weights_are_rounded_at_load_and_results_by_their_kernel() -> None:
    graph = graph_with("return %b")
    assert round_factors(graph, factors_of(graph, a=(0, 1), b=(0, 1)))
    verify(graph, "round_factors")
    a, b = graph.find("a"), graph.find("b")
    assert [is_rounded(value) for value in (*a.inputs, *b.inputs, b)] == [False, True, True, True, False]
    assert [each.op.name for each in (*a.inputs, *b.inputs)] == ["input", "derive", "kernel", "derive"]
    assert a.body.outputs[0].inputs[0].op.name == "linear"


def test_a_second_time_changes_nothing() -> None:
    graph = graph_with("return %b")
    round_factors(graph, factors_of(graph, a=(0, 1), b=(0, 1)))
    text = print_graph(graph)
    assert not round_factors(graph, factors_of(graph, a=(0, 1), b=(0, 1)))
    assert print_graph(graph) == text


def test_without_tf32_products_nothing_is_rounded() -> None:
    graph = graph_with("return %b")
    text = print_graph(graph)
    assert not round_factors(graph, {})
    assert print_graph(graph) == text


def test_an_output_is_never_rounded() -> None:
    graph = graph_with("return %a, %b")
    round_factors(graph, factors_of(graph, a=(0, 1), b=(0, 1)))
    assert not is_rounded(graph.find("a"))


def test_a_value_with_another_reader_is_not_rounded() -> None:
    other = """%c = kernel map(%a) {
      %y = exp(%a) : f32[4,8]
      yield %y
    } : f32[4,8]
    return %b, %c"""
    graph = graph_with(other)
    round_factors(graph, factors_of(graph, b=(0, 1)))
    assert not is_rounded(graph.find("a"))
    assert is_rounded(graph.find("b").inputs[1])
    assert graph.find("a").inputs[1].is_op("weight")


def test_what_the_same_kernel_reads_otherwise_too_is_not_rounded() -> None:
    residual = """%c = kernel linear(%a, %v, %a) {
      %t = permute(%v) {perm=[1,0]} : f32[8,8]
      %y = addmm(%a_2, %a, %t) : f32[4,8]
      yield %y
    } : f32[4,8]
    return %b, %c"""
    graph = graph_with(residual.replace("(%a, %v, %a)", "(%a, %v, %a_2=%a)"))
    round_factors(graph, factors_of(graph, b=(0, 1), c=(0, 1)))
    assert not is_rounded(graph.find("a"))


def test_a_weight_of_two_products_is_rounded_once() -> None:
    graph = graph_with("return %b")
    graph = parse_graph(print_graph(graph).replace("%v)", "%w)").replace("%v=", "%w="))
    round_factors(graph, factors_of(graph, a=(0, 1), b=(0, 1)))
    assert graph.find("a").inputs[1] is graph.find("b").inputs[1]
