from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from dlrmc.errors import TypeRuleError
from dlrmc.ir.graph import Graph
from dlrmc.ir.node import Node, safe_name
from dlrmc.ir.types import parse_tensor_type

F = parse_tensor_type("f32[2,3]")


def kernel_of(outputs: int) -> tuple[Graph, Node]:
    """A kernel that yields its input, which goes by another name inside, so many times."""
    graph, body = Graph("g"), Graph("body")
    inner = body.input("inner", F)
    body.set_outputs([inner] * outputs)
    return graph, graph.add("kernel", ((graph.input("x", F),),), {"impl": "map"}, body=body, name="k")


def test_type_and_shape():
    graph = Graph("g")
    x = graph.input("x", F)
    assert x.type == F
    assert x.shape == (2, 3)
    assert repr(x) == "%x = input : f32[2,3]"


def test_inputs_are_the_flat_operands():
    graph = Graph("g")
    x, w = graph.input("x", F), graph.weight("w", parse_tensor_type("f32[4,6]"), "w")
    node = graph.add("linear", ((x, x), w, None))
    assert node.inputs == (x, x, w)
    assert node.operands == ((x, x), w, None)
    assert node.is_op("mm", "linear")
    assert not node.is_op("mm")


def test_a_kernel_with_several_results_has_no_single_type():
    _, kernel = kernel_of(2)
    assert str(kernel.result_type) == "(f32[2,3], f32[2,3])"
    with pytest.raises(TypeRuleError) as error:
        _ = kernel.type
    assert str(error.value) == "%k: type (f32[2,3], f32[2,3])\n  expected: a single tensor"


def test_only_a_const_has_a_value():
    graph = Graph("g")
    assert graph.const("k", np.array(1.0)).value == 1.0
    with pytest.raises(TypeRuleError) as error:
        _ = graph.input("x", F).value
    assert str(error.value) == "%x: op input\n  expected: a const"


def test_only_a_kernel_has_a_body():
    graph, kernel = kernel_of(1)
    assert kernel.has_body
    assert [node.name for node in kernel.body.inputs] == ["inner"]
    with pytest.raises(TypeRuleError) as error:
        _ = graph.find("x").body
    assert str(error.value) == "%x: op input\n  expected: an op with a body"


def test_nodes_are_frozen_and_compared_by_identity():
    graph, other = Graph("g"), Graph("g")
    x, y = graph.input("x", F), other.input("x", F)
    assert x != y
    assert len({x, y}) == 2
    with pytest.raises(FrozenInstanceError):
        x.name = "z"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("bot.0.weight", "bot_0_weight"),
        ("0", "_0"),
        ("", "value"),
        ("a-b c", "a_b_c"),
        ("_x", "_x"),
        ("é", "_"),
    ],
)
def test_names_are_made_safe(name: str, safe: str):
    assert safe_name(name) == safe
    assert safe_name(safe) == safe
