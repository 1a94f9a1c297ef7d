from __future__ import annotations

import pytest

from dlrmc.errors import TypeRuleError
from dlrmc.ir.attributes import Attributes
from dlrmc.ir.graph import Graph
from dlrmc.ir.inference import infer_type
from dlrmc.ir.ops import find_op
from dlrmc.ir.types import parse_tensor_type

F = parse_tensor_type("f32[2,3]")


def body_with(*types: str) -> Graph:
    """A body with one input that yields its sums over no, the last and both dimensions, as many as types."""
    body = Graph("body")
    x = body.input("x", F)
    sums = {"f32[2,3]": x, "f32[2]": (1,), "f32[]": (0, 1)}
    body.set_outputs([x if sums[t] is x else body.add("sum", (x,), {"dims": sums[t]}) for t in types])
    return body


def test_an_op_without_a_body_goes_by_its_card():
    x = Graph("g").input("x", F)
    assert (
        str(infer_type(find_op("sum"), (x,), Attributes({"dims": (0,), "keepdim": True}), None)) == "f32[1,3]"
    )


@pytest.mark.parametrize(
    ("yielded", "kept"),
    [(("f32[2]",), "f32[2]"), (("f32[2]", "f32[]"), "(f32[2], f32[])"), ((), "()")],
)
def test_a_body_gives_the_types_that_it_yields(yielded: tuple[str, ...], kept: str):
    x = Graph("g").input("x", F)
    assert (
        str(infer_type(find_op("kernel"), ((x,),), Attributes({"impl": "map"}), body_with(*yielded))) == kept
    )


def test_operands_must_have_the_types_of_the_bodys_inputs():
    x = Graph("g").input("x", parse_tensor_type("f32[3,2]"))
    with pytest.raises(TypeRuleError) as error:
        infer_type(find_op("derive"), ((x,),), Attributes(), body_with("f32[2]"))
    assert str(error.value) == "derive: operands of types f32[3,2]\n  expected: the body's f32[2,3]"


def test_a_kernel_without_a_body_has_no_type():
    with pytest.raises(TypeRuleError, match="kernel: no body"):
        infer_type(find_op("kernel"), ((),), Attributes({"impl": "map"}), None)


def test_item_reads_one_of_several_results():
    graph = Graph("g")
    x = graph.input("x", F)
    kernel = graph.add("kernel", ((x,),), {"impl": "map"}, body=body_with("f32[2]", "f32[]"))
    assert [str(graph.add("item", (kernel,), {"index": i}).type) for i in (0, 1)] == ["f32[2]", "f32[]"]
    with pytest.raises(TypeRuleError) as error:
        graph.add("item", (kernel,), {"index": 2})
    assert str(error.value) == (
        "item: item 2 of (f32[2], f32[])\n  expected: an index into a kernel with several results"
    )
    with pytest.raises(TypeRuleError, match="item -1 of"):
        graph.add("item", (kernel,), {"index": -1})


def test_item_reads_no_single_tensor():
    graph = Graph("g")
    with pytest.raises(TypeRuleError, match=r"item: item 0 of f32\[2,3\]"):
        graph.add("item", (graph.input("x", F),), {"index": 0})


def test_a_kernel_with_several_results_is_no_operand_of_other_ops():
    graph = Graph("g")
    kernel = graph.add(
        "kernel", ((graph.input("x", F),),), {"impl": "map"}, body=body_with("f32[2]", "f32[]")
    )
    with pytest.raises(TypeRuleError, match="expected: a single tensor"):
        graph.add("relu", (kernel,))
