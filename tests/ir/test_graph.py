from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from dlrmc.errors import PassError, TypeRuleError
from dlrmc.ir.graph import Graph
from dlrmc.ir.ops import find_op
from dlrmc.ir.printer import print_graph
from dlrmc.ir.types import DType, TensorType, parse_tensor_type
from dlrmc.ir.verify import verify

F = parse_tensor_type("f32[2,3]")


@pytest.fixture
def graph() -> Graph:
    """A relu and a sigmoid of x, and their sum."""
    graph = Graph("g")
    x = graph.input("x", F)
    relu = graph.add("relu", (x,), name="a", source="model.py:1")
    sigmoid = graph.add("sigmoid", (x,), name="b")
    graph.set_outputs([graph.add("add", (relu, sigmoid), name="c")])
    return graph


def names(nodes) -> list[str]:
    return [node.name for node in nodes]


def test_reading(graph: Graph):
    x, a, b, c = (graph.find(name) for name in "xabc")
    assert names(graph.nodes) == ["x", "a", "b", "c"]
    assert graph.inputs == (x,)
    assert graph.outputs == (c,)
    assert graph.users(x) == (a, b)
    assert graph.operand_edges(c) == {0: a, 1: b}
    assert len(graph) == 4
    assert a in graph
    assert graph.has_name("a")
    assert not graph.has_name("z")
    assert graph.depends_on(c, x)
    assert not graph.depends_on(a, b)


def test_use_count_counts_places_and_outputs(graph: Graph):
    a = graph.find("a")
    graph.add("mul", (a, a), name="square")
    graph.set_outputs([a, a])
    assert graph.use_count(a) == 5
    assert graph.users(a) == (graph.find("c"), graph.find("square"))


def test_the_networkx_view_is_read_only(graph: Graph):
    with pytest.raises(nx.NetworkXError):
        graph.digraph.add_edge(graph.find("a"), graph.find("b"))
    edges = [(source.name, user.name, key) for source, user, key in graph.digraph.edges(keys=True)]
    assert sorted(edges) == [("a", "c", 0), ("b", "c", 1), ("x", "a", 0), ("x", "b", 0)]


def test_a_name_that_is_not_there(graph: Graph):
    with pytest.raises(PassError) as error:
        graph.find("z")
    assert str(error.value) == "graph @g: no value %z\n  expected: a name of the graph"


def test_names_are_made_safe_and_unique():
    graph = Graph("my.model-1")
    taken = [graph.input(name, F).name for name in ("a.b", "a.b", "a_b_1", "0", "", "x_7", "x_7")]
    assert graph.name == "my_model_1"
    assert taken == ["a_b", "a_b_1", "a_b_2", "_0", "value", "x_7", "x_1"]


def test_a_node_is_named_after_its_op():
    graph = Graph("g")
    x = graph.input("x", F)
    assert names([graph.add("relu", (x,)), graph.add("relu", (x,))]) == ["relu", "relu_1"]


def test_add_infers_the_type_and_completes_the_attributes():
    graph = Graph("g")
    node = graph.add("sum", (graph.input("x", F),), {"dims": (1,)}, source="model.py:3")
    assert str(node.type) == "f32[2]"
    assert [*node.attributes.items()] == [("dims", (1,)), ("keepdim", False)]
    assert node.source == "model.py:3"


def test_add_takes_the_place_of_another_node(graph: Graph):
    x = graph.find("x")
    graph.add("tanh", (x,), name="early", place=graph.find("a"))
    graph.add("tanh", (x,), name="late")
    assert names(graph.nodes) == ["x", "a", "early", "b", "c", "late"]


def test_add_refuses_what_does_not_fit(graph: Graph):
    other = Graph("other")
    y = other.input("y", F)
    with pytest.raises(PassError, match="graph @g: operand %y of another graph"):
        graph.add("relu", (y,))
    with pytest.raises(TypeRuleError, match="number of operands 2"):
        graph.add("relu", (graph.find("x"), graph.find("x")))
    with pytest.raises(TypeRuleError, match="unknown op 'rule'"):
        graph.add("rule", (graph.find("x"),))
    with pytest.raises(TypeRuleError) as error:
        graph.add("relu", (graph.find("x"),), body=other)
    assert str(error.value) == "relu: a body\n  expected: no body: only kernel and derive have one"
    assert names(graph.nodes) == ["x", "a", "b", "c"]


def test_a_const_is_a_read_only_copy():
    graph = Graph("g")
    array = np.array([[1, 2], [3, 4]]).T
    node = graph.const("k", array)
    array[:] = 0
    assert node.value.tolist() == [[1, 3], [2, 4]]
    assert node.value.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        node.value[0] = 1


def test_a_const_of_another_type_than_said():
    with pytest.raises(TypeRuleError) as error:
        Graph("g").const("k", np.zeros(3, np.float32), TensorType(DType.F32, (4,)))
    assert str(error.value) == "const %k: an array float32[3]\n  expected: f32[4]"


def test_a_const_takes_the_place_of_another_node(graph: Graph):
    graph.const("k", np.zeros(1), place=graph.find("a"))
    assert names(graph.nodes) == ["x", "a", "k", "b", "c"]


def test_replace_moves_uses_and_hands_over_name_place_and_source(graph: Graph):
    a = graph.find("a")
    new = graph.add("tanh", (graph.find("x"),))
    graph.set_outputs([graph.find("c"), a])
    graph.replace(a, new)
    assert a not in graph
    assert (new.name, new.source) == ("a", "model.py:1")
    assert names(graph.nodes) == ["x", "a", "b", "c"]
    assert graph.find("c").operands == (new, graph.find("b"))
    assert graph.outputs == (graph.find("c"), new)
    verify(graph)


def test_replace_in_every_place_of_a_user(graph: Graph):
    a, x = graph.find("a"), graph.find("x")
    cat = graph.add("cat", ((a, x, a),), {"dim": 0})
    index = graph.add("index", (x, (None, graph.const("i", np.array([0])))))
    graph.replace(a, graph.add("neg", (x,)))
    assert names(cat.inputs) == ["a", "x", "a"]
    assert graph.find("a").is_op("neg")
    assert index.operands[1] == (None, graph.find("i"))
    verify(graph)


def test_replace_can_leave_the_name(graph: Graph):
    new = graph.add("tanh", (graph.find("x"),), name="t")
    graph.replace(graph.find("a"), new, keep_name=False)
    assert new.name == "t"
    assert not graph.has_name("a")
    assert names(graph.nodes) == ["x", "b", "t", "c"]


def test_an_input_or_weight_keeps_its_own_name(graph: Graph):
    weight = graph.weight("w", F, "layer.weight")
    graph.replace(graph.find("a"), weight)
    graph.replace(graph.find("b"), graph.find("x"))
    assert names(graph.nodes) == ["x", "w", "c"]
    assert graph.find("c").operands == (weight, graph.find("x"))
    verify(graph)


def test_replace_by_itself_changes_nothing(graph: Graph):
    text = print_graph(graph)
    graph.replace(graph.find("a"), graph.find("a"))
    assert print_graph(graph) == text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("x", "a", "replacing %x: an input\n  expected: inputs stay in the signature"),
        ("a", "narrow", "replacing %a: type f32[2]\n  expected: f32[2,3]"),
        ("a", "c", "replacing %a: %c, which is computed from it\n  expected: another value"),
    ],
)
def test_replace_refuses_and_changes_nothing(graph: Graph, old: str, new: str, message: str):
    graph.add("sum", (graph.find("x"),), {"dims": (1,)}, name="narrow")
    text = print_graph(graph)
    with pytest.raises(PassError) as error:
        graph.replace(graph.find(old), graph.find(new))
    assert str(error.value) == message
    assert print_graph(graph) == text
    verify(graph)


def test_replace_refuses_a_value_of_another_graph(graph: Graph):
    with pytest.raises(PassError, match="replacing %a: %a of another graph"):
        graph.replace(graph.find("a"), graph.copy().find("a"))


def test_erase(graph: Graph):
    dead = graph.add("neg", (graph.find("x"),))
    graph.erase(dead)
    assert dead not in graph
    assert not graph.has_name("neg")
    assert names(graph.users(graph.find("x"))) == ["a", "b"]
    verify(graph)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a", "erasing %a: it is read by %c\n  expected: no users"),
        ("c", "erasing %c: it is read by return\n  expected: no users"),
        ("unused", "erasing %unused: an input\n  expected: inputs stay in the signature"),
    ],
)
def test_erase_refuses(graph: Graph, name: str, message: str):
    graph.input("unused", F)
    with pytest.raises(PassError) as error:
        graph.erase(graph.find(name))
    assert str(error.value) == message
    assert graph.has_name(name)


def test_order_is_topological_whatever_the_numbers(graph: Graph):
    late = graph.add("exp", (graph.find("x"),))
    graph.replace(graph.find("a"), graph.add("log", (late,)))
    assert names(graph.nodes) == ["x", "b", "exp", "a", "c"]


def test_a_cycle_is_told(graph: Graph):
    a, c = graph.find("a"), graph.find("c")
    graph._digraph.add_edge(c, a, key=1)
    graph.set_outputs([c])
    with pytest.raises(PassError) as error:
        _ = graph.nodes
    assert str(error.value) == "graph @g: a cycle\n  expected: a directed acyclic graph"


def test_a_copy_prints_the_same_and_shares_no_node(graph: Graph):
    graph.add("exp", (graph.find("x"),), place=graph.find("a"))
    graph.input("unused", F)
    twin = graph.copy()
    assert print_graph(twin) == print_graph(graph)
    assert not set(twin.nodes) & set(graph.nodes)
    verify(twin)
    text = print_graph(graph)
    twin.replace(twin.find("a"), twin.add("neg", (twin.find("x"),)))
    assert print_graph(graph) == text
    assert print_graph(twin) != text


def test_a_copy_goes_on_numbering_where_the_graph_was(graph: Graph):
    x = graph.find("x")
    graph.erase(graph.add("neg", (x,)))
    twin = graph.copy()
    assert twin.add("neg", (twin.find("x"),)).number == graph.add("neg", (x,)).number


def test_a_card_may_be_given_itself(graph: Graph):
    assert graph.add(find_op("relu"), (graph.find("x"),)).op is find_op("relu")
