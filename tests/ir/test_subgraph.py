from __future__ import annotations

import numpy as np
import pytest

from dlrmc.errors import PassError
from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.subgraph import INLINE_CONST_ELEMENTS, outline
from dlrmc.ir.types import parse_tensor_type
from dlrmc.ir.verify import verify

TEXT = """graph @g {
  input %x : f32[2,3]
  input %y : f32[2,3]
  weight %w : f32[4,3] = "w"
  const %two : f32[] = 2.0
  %a = mul(%x, %two) : f32[2,3]
  %b = linear(%a, %w) : f32[2,4]
  %c = cat(%b, %y) {dim=1} : f32[2,7]
  return %c
}
"""


def region(graph: Graph, *names: str):
    return [graph.find(name) for name in names]


def test_outline_copies_the_region_and_leaves_the_graph():
    graph = parse_graph(TEXT)
    body, operands = outline(graph, region(graph, "a", "b"), region(graph, "b"))
    assert [node.name for node in operands] == ["x", "w"]
    assert (
        print_graph(body)
        == """graph @body {
  input %x : f32[2,3]
  input %w : f32[4,3]
  const %two : f32[] = 2.0
  %a = mul(%x, %two) : f32[2,3]
  %b = linear(%a, %w) : f32[2,4]
  return %b
}
"""
    )
    verify(body)
    assert print_graph(graph) == TEXT


def test_outputs_may_be_inner_values_twice_or_values_passed_on():
    graph = parse_graph(TEXT)
    body, operands = outline(graph, region(graph, "a", "b"), region(graph, "b", "a", "b", "y"))
    assert [node.name for node in body.outputs] == ["b", "a", "b", "y"]
    assert [node.name for node in operands] == ["x", "w", "y"]


def test_a_region_of_nothing_passes_values_on():
    graph = parse_graph(TEXT)
    body, operands = outline(graph, [], region(graph, "x", "two"))
    assert [node.name for node in operands] == ["x"]
    assert [node.op.name for node in body.outputs] == ["input", "const"]


def test_the_order_of_the_region_does_not_matter():
    graph = parse_graph(TEXT)
    texts = [
        print_graph(outline(graph, region(graph, *names), region(graph, "b"))[0]) for names in ("ab", "ba")
    ]
    assert texts[0] == texts[1]


def test_a_large_constant_is_an_operand():
    graph = Graph("g")
    x = graph.input("x", parse_tensor_type("f32[1]"))
    small = graph.const("small", np.zeros(INLINE_CONST_ELEMENTS, np.float32))
    large = graph.const("large", np.zeros(INLINE_CONST_ELEMENTS + 1, np.float32))
    sums = [graph.add("add", (x, k)) for k in (small, large)]
    body, operands = outline(graph, sums, sums)
    assert operands == (x, large)
    assert body.find("small").is_op("const")


def test_bodies_names_and_sources_come_along():
    graph = parse_graph("""graph @g {
  input %x : f32[2]
  %k = kernel map(%p=%x) {
    yield %p
  } : f32[2]
  return %k
}
""")
    y = graph.add("relu", (graph.find("k"),), source="model.py:1")
    body, operands = outline(graph, [graph.find("k"), y], [y])
    assert operands == (graph.find("x"),)
    assert body.find("k").body is graph.find("k").body
    assert body.find("relu").source == "model.py:1"


def test_an_output_of_the_region_that_is_left_out_is_told(monkeypatch: pytest.MonkeyPatch):
    graph = parse_graph(TEXT)
    nodes = region(graph, "a", "b")
    graph.nodes  # noqa: B018 - the order is kept
    monkeypatch.setattr(graph, "_order", tuple(reversed(graph.nodes)))
    with pytest.raises(PassError) as error:
        outline(graph, nodes, nodes)
    assert str(error.value) == "outlining %a: a region that is not in topological order"
