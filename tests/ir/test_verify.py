"""Each invariant, broken on purpose behind the graph's back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dlrmc.errors import VerifyError
from dlrmc.ir import verify as module
from dlrmc.ir.attributes import Attributes
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.types import TupleType, parse_tensor_type
from dlrmc.ir.verify import verify

TEXT = """graph @g {
  input %x : f32[2,3]
  weight %w : f32[4,3] = "w"
  const %c : i64[2] = [1,0]
  %a = relu(%x) : f32[2,3]
  %b = linear(%a, %w) {act=relu} : f32[2,4]
  %s = sub(%a, %x) : f32[2,3]
  %d = derive(%w) {
    %n = neg(%w) : f32[4,3]
    yield %n
  } : f32[4,3]
  %k = kernel map(%p=%a, %x) {
    %m = mul(%p, %x) : f32[2,3]
    yield %m
  } : f32[2,3]
  return %b, %s, %d, %k
}
"""


@pytest.fixture
def graph() -> Graph:
    graph = parse_graph(TEXT)
    verify(graph)
    return graph


def rewrite(node: Node, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(node, name, value)


def message(graph: Graph, after: str = "") -> str:
    with pytest.raises(VerifyError) as error:
        verify(graph, after)
    return str(error.value)


def test_v1_an_edge_that_is_no_operand(graph: Graph):
    graph._digraph.add_edge(graph.find("x"), graph.find("b"), key=2)
    assert message(graph, "pass cse") == (
        "graph @g after pass cse: V1: %b: edges from 0: %a, 1: %w, 2: %x\n"
        "  expected: edges from 0: %a, 1: %w\n"
        "  | %b = linear(%a, %w) {act=relu} : f32[2,4]"
    )


def test_v1_an_operand_without_an_edge(graph: Graph):
    graph._digraph.remove_edge(graph.find("x"), graph.find("a"), key=0)
    assert message(graph).startswith("graph @g: V1: %a: edges from nothing\n  expected: edges from 0: %x\n")


def test_v1_an_edge_at_another_position(graph: Graph):
    a, x, s = graph.find("a"), graph.find("x"), graph.find("s")
    graph._digraph.remove_edges_from([(a, s, 0), (x, s, 1)])
    graph._digraph.add_edge(x, s, key=0)
    graph._digraph.add_edge(a, s, key=1)
    assert message(graph).startswith(
        "graph @g: V1: %s: edges from 0: %x, 1: %a\n  expected: edges from 0: %a, 1: %x\n"
    )


def test_v1_positions_with_a_gap(graph: Graph):
    a, s = graph.find("a"), graph.find("s")
    graph._digraph.remove_edge(a, s, key=0)
    graph._digraph.add_edge(a, s, key=7)
    assert "V1: %s: edges from 1: %x, 7: %a\n  expected: edges from 0: %a, 1: %x\n" in message(graph)


def test_v2_an_operand_of_another_graph(graph: Graph):
    rewrite(graph.find("a"), operands=(parse_graph(TEXT).find("x"),))
    assert message(graph) == (
        "graph @g: V2: %a: operand %x of another graph\n"
        "  expected: a value of the graph\n"
        "  | %a = relu(%x) : f32[2,3]"
    )


def test_v2_an_output_of_another_graph(graph: Graph):
    graph.set_outputs([parse_graph(TEXT).find("b")])
    assert message(graph) == (
        "graph @g: V2: %b: an output that is not in the graph\n"
        "  expected: a value of the graph\n"
        "  | %b = linear(%a, %w) {act=relu} : f32[2,4]"
    )


def test_v2_an_input_that_is_gone(graph: Graph):
    graph._inputs.append(parse_graph(TEXT).find("x"))
    assert message(graph).startswith("graph @g: V2: %x: an input that is not in the graph\n")


def test_v3_a_cycle_of_edges(graph: Graph):
    graph._digraph.add_edge(graph.find("b"), graph.find("a"), key=1)
    graph._order = None
    assert message(graph) == "graph @g: V3: a cycle\n  expected: a directed acyclic graph"


def test_v3_a_cycle_behind_an_order_that_was_kept(graph: Graph):
    a, x, s = graph.find("a"), graph.find("x"), graph.find("s")
    assert graph.nodes.index(a) < graph.nodes.index(s)
    rewrite(a, operands=(s,))
    graph._digraph.remove_edge(x, a, key=0)
    graph._digraph.add_edge(s, a, key=0)
    assert message(graph) == (
        "graph @g: V3: %a: operand %s, which comes later\n"
        "  expected: operands first\n"
        "  | %a = relu(%s) : f32[2,3]"
    )


@pytest.mark.parametrize("name", ["b", "9", "a b", "a.b", "", "é"])
def test_v4_a_name_that_is_taken_or_malformed(graph: Graph, name: str):
    a = graph.find("a")
    rewrite(a, name=name)
    if name != "b":
        graph._names[name] = a
    assert message(graph).startswith(
        f"graph @g: V4: %{name}: a name that is taken or malformed\n  expected: a unique IR name\n"
    )


def test_v4_a_name_that_the_graph_does_not_know(graph: Graph):
    del graph._names["a"]
    assert message(graph).startswith("graph @g: V4: %a: a name that is taken or malformed\n")


@pytest.mark.parametrize(
    ("operands", "found", "expected"),
    [
        (lambda a, w: (a, w, None), "operand x is a single value", "a list of values"),
        (lambda a, w: ((a,), w), "number of operands 2", "3 (x, w, bias)"),
        (lambda a, w: ((a,), (w,), None), "operand w is a list", "one value"),
    ],
)
def test_v5_the_structure_of_operands(graph: Graph, operands: Callable, found: str, expected: str):
    rewrite(graph.find("b"), operands=operands(graph.find("a"), graph.find("w")))
    with pytest.raises(VerifyError) as error:
        verify(graph)
    assert error.value.place == "graph @g: V5"
    assert (error.value.found, error.value.expected) == (f"%b: {found}", expected)


def test_v5_a_leaf_with_operands(graph: Graph):
    x, w = graph.find("x"), graph.find("w")
    rewrite(w, operands=(x,))
    graph._digraph.add_edge(x, w, key=0)
    assert message(graph).startswith(
        "graph @g: V5: %w: operands or a body\n  expected: neither, for weight is a leaf\n"
    )


COMPLETE = {"act": "relu", "alpha": 1.0, "beta": 1.0, "slope": 0.01}
REPR = "Attributes({'act': 'relu', 'alpha': 1.0, 'beta': 1.0, 'slope': 0.01})"


@pytest.mark.parametrize(
    ("attributes", "found", "expected"),
    [
        ({"act": "relu"}, "Attributes({'act': 'relu'})", REPR),
        ({**COMPLETE, "alpha": 1}, REPR.replace("'alpha': 1.0", "'alpha': 1"), REPR),
        (
            dict(reversed(COMPLETE.items())),
            "Attributes({'slope': 0.01, 'beta': 1.0, 'alpha': 1.0, 'act': 'relu'})",
            REPR,
        ),
        ({**COMPLETE, "bias": 1.0}, "attribute 'bias'", "one of act, alpha, beta, slope"),
        ({**COMPLETE, "alpha": "wide"}, "alpha='wide'", "alpha of kind float"),
        (
            {**COMPLETE, "act": "swish"},
            "act=swish",
            "act one of none, relu, sigmoid, tanh, gelu, gelu_tanh, silu, leaky_relu",
        ),
    ],
)
def test_v6_attributes(graph: Graph, attributes: dict, found: str, expected: str):
    rewrite(graph.find("b"), attributes=Attributes(attributes))
    with pytest.raises(VerifyError) as error:
        verify(graph)
    assert error.value.place == "graph @g: V6"
    assert (error.value.found, error.value.expected) == (f"%b: {found}", expected)


def test_v7_a_type_that_the_card_does_not_infer(graph: Graph):
    rewrite(graph.find("b"), result_type=parse_tensor_type("f32[4,2]"))
    assert message(graph) == (
        "graph @g: V7: %b: type f32[4,2]\n"
        "  expected: f32[2,4], which the card infers\n"
        "  | %b = linear(%a, %w) {act=relu} : f32[4,2]"
    )


def test_v7_operands_that_the_card_refuses(graph: Graph):
    rewrite(graph.find("w"), result_type=parse_tensor_type("f32[4,5]"))
    text = message(graph)
    assert text.startswith("graph @g: V7: %b: ")
    assert "| %b = linear(%a, %w) {act=relu} : f32[2,4]" in text


def test_v7_a_kernel_with_another_type_than_its_body(graph: Graph):
    rewrite(graph.find("k"), result_type=parse_tensor_type("f32[3,2]"))
    assert message(graph).startswith(
        "graph @g: V7: %k: type f32[3,2]\n  expected: f32[2,3], which the card infers\n  | %k = kernel map("
    )


def test_v7_a_kernel_without_a_body(graph: Graph):
    rewrite(graph.find("k"), inner=None)
    assert message(graph).startswith("graph @g: V7: %k: no body\n")


def test_v7_a_body_where_none_belongs(graph: Graph):
    inner = Graph("body")
    inner.set_outputs([inner.input("x", parse_tensor_type("f32[2,3]"))])
    rewrite(graph.find("a"), inner=inner)
    assert message(graph).startswith(
        "graph @g: V7: %a: a body\n  expected: no body: only kernel and derive have one\n"
    )


def test_v7_a_const_of_another_type(graph: Graph):
    rewrite(graph.find("c"), result_type=parse_tensor_type("i64[3]"))
    assert message(graph) == (
        "graph @g: V7: %c: an array of type i64[2]\n"
        "  expected: a read-only one of i64[3]\n"
        "  | const %c : i64[3] = [1,0]"
    )


def test_v7_a_const_that_can_be_written(graph: Graph):
    rewrite(graph.find("c"), constant=np.array([1, 0]))
    assert "V7: %c: a writeable array of type i64[2]\n  expected: a read-only one of i64[2]\n" in message(
        graph
    )


def test_v7_a_leaf_is_a_tensor(graph: Graph):
    rewrite(graph.find("w"), result_type=TupleType(()))
    with pytest.raises(VerifyError) as error:
        verify(graph)
    assert (error.value.place, error.value.found) == ("graph @g: V7", "%w: type ()")


def test_v8_an_input_that_is_not_in_the_signature(graph: Graph):
    graph._inputs.clear()
    assert message(graph) == "graph @g: V8: signature []\n  expected: inputs ['x'], once each"


def test_v8_an_input_that_is_there_twice(graph: Graph):
    graph._inputs.append(graph.find("x"))
    assert message(graph) == "graph @g: V8: signature ['x', 'x']\n  expected: inputs ['x'], once each"


def test_v8_what_is_no_input(graph: Graph):
    graph._inputs.append(graph.find("a"))
    assert message(graph) == "graph @g: V8: signature ['x', 'a']\n  expected: inputs ['x'], once each"


def test_v9_a_weight_in_a_body(graph: Graph):
    graph.find("k").body.weight("hidden", parse_tensor_type("f32[1]"), "hidden")
    text = message(graph)
    assert text.startswith(
        "graph @g: V9: %k: weight %hidden in a body\n  expected: a body that reads weights as operands\n"
    )


def test_v9_operands_of_other_types_than_the_bodys_inputs(graph: Graph):
    rewrite(graph.find("k").body.find("p"), result_type=parse_tensor_type("f32[1,3]"))
    assert message(graph).startswith(
        "graph @g: V9: %k: operands of types f32[2,3], f32[2,3]\n  expected: the body's f32[1,3], f32[2,3]\n"
    )


def test_v9_a_body_with_an_input_too_many(graph: Graph):
    graph.find("d").body.input("more", parse_tensor_type("f32[1]"))
    assert message(graph).startswith(
        "graph @g: V9: %d: operands of types f32[4,3]\n  expected: the body's f32[4,3], f32[1]\n"
    )


def test_v9_a_fault_inside_a_body_names_the_way_to_it(graph: Graph):
    body = graph.find("k").body
    body._digraph.remove_edge(body.find("p"), body.find("m"), key=0)
    assert message(graph, "rule a").startswith(
        "graph @g after rule a, body of %k: V1: %m: edges from 1: %x\n"
    )


def test_v10_a_derive_that_reads_an_input(graph: Graph):
    body = Graph("body")
    body.set_outputs([body.input("x", parse_tensor_type("f32[2,3]"))])
    graph.add("derive", ((graph.find("a"),),), body=body, name="bad")
    assert message(graph).startswith(
        "graph @g: V10: %bad: operand %a, a relu\n  expected: weights, constants and derived values\n"
    )


def test_v10_a_derive_may_read_weights_constants_and_derived_values(graph: Graph):
    body = Graph("body")
    operands = tuple(graph.find(name) for name in ("w", "c", "d"))
    inner = [body.input(node.name, node.type) for node in operands]
    body.set_outputs([body.add("add", (inner[0], inner[2]))])
    graph.add("derive", (operands,), body=body)
    verify(graph)


def test_the_docstring_numbers_the_invariants_that_are_tested_here():
    numbers = [line.split()[0] for line in (module.__doc__ or "").splitlines() if line.startswith("V")]
    assert numbers == [f"V{number}" for number in range(1, 11)]
    tested = {name.split("_")[1] for name in globals() if name.startswith("test_v")}
    assert tested == {number.lower() for number in numbers}


def test_a_node_that_cannot_be_printed_is_shown_by_its_fields(graph: Graph):
    rewrite(graph.find("a"), attributes=Attributes({"speed": 1}))
    assert message(graph) == (
        "graph @g: V6: %a: attribute 'speed'\n"
        "  expected: none\n"
        "  | %a = relu(%x) Attributes({'speed': 1}) : f32[2,3]"
    )
