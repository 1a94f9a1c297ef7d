from __future__ import annotations

import pytest

from dlrmc.errors import TypeRuleError
from dlrmc.ir.op import (
    Operands,
    check_arity,
    complete_attributes,
    flatten,
    many,
    many_optional,
    map_operands,
    one,
    optional,
)
from dlrmc.ir.ops import ALL_OPS, find_op
from dlrmc.ir.types import DType

NESTED: Operands[str] = ("a", None, ("b", None, "c"), ())


def test_flatten_keeps_the_textual_order_and_leaves_absent_ones_out():
    assert flatten(NESTED) == ("a", "b", "c")


def test_map_operands_keeps_the_structure():
    assert map_operands(NESTED, str.upper) == ("A", None, ("B", None, "C"), ())


def test_the_readers_of_operands():
    assert one("a") == "a"
    assert optional("a") == "a"
    assert optional(None) is None
    assert many(("a", "b")) == ("a", "b")
    assert many_optional(("a", None)) == ("a", None)


@pytest.mark.parametrize(
    ("read", "operand", "message"),
    [
        (one, None, "operand: an absent operand or a list\n  expected: one value"),
        (one, ("a",), "operand: an absent operand or a list\n  expected: one value"),
        (optional, ("a",), "operand: a list\n  expected: one value or none"),
        (many, ("a", None), "operand: an absent item in a list\n  expected: a value in every place"),
        (many, "a", "operand: a single value\n  expected: a list of values"),
        (many_optional, None, "operand: a single value\n  expected: a list of values"),
    ],
)
def test_a_reader_refuses_another_structure(read, operand, message):
    with pytest.raises(TypeRuleError) as error:
        read(operand)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("op", "operands", "message"),
    [
        ("relu", (), "relu: number of operands 0\n  expected: 1 (x)"),
        ("relu", ("a", "b"), "relu: number of operands 2\n  expected: 1 (x)"),
        ("relu", (None,), "relu: operand x is absent\n  expected: a value"),
        ("relu", (("a",),), "relu: operand x is a list\n  expected: one value"),
        ("cat", ("a",), "cat: operand parts is a single value\n  expected: a list of values"),
        ("linear", ("a", "w", None), "linear: operand x is a single value\n  expected: a list of values"),
        (
            "embedding_bag_group",
            (("t",), None, (), ()),
            "embedding_bag_group: operand ids is a single value\n  expected: a list of values",
        ),
    ],
)
def test_arity_is_checked(op, operands, message):
    with pytest.raises(TypeRuleError) as error:
        check_arity(find_op(op), operands)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("op", "operands"),
    [("relu", ("a",)), ("cat", ((),)), ("linear", (("a",), "w", None)), ("index", ("x", (None, "i")))],
)
def test_operands_that_fit_pass(op, operands):
    check_arity(find_op(op), operands)


def test_defaults_are_filled_in_in_the_order_of_the_card():
    complete = complete_attributes(find_op("linear"), {"beta": 2, "act": "relu"})
    assert [*complete.items()] == [("act", "relu"), ("alpha", 1.0), ("beta", 2.0), ("slope", 0.01)]
    assert isinstance(complete["beta"], float)


@pytest.mark.parametrize(
    ("op", "given", "message"),
    [
        ("relu", {"a": 1}, "relu: attribute 'a'\n  expected: none"),
        ("select", {"dim": 0}, "select: no attribute 'index'\n  expected: index=int"),
        ("select", {"dim": 0.0, "index": 0}, "select: dim=0.0\n  expected: dim of kind int"),
        ("select", {"dim": True, "index": 0}, "select: dim=True\n  expected: dim of kind int"),
        ("clamp", {"min": True}, "clamp: min=True\n  expected: min of kind float"),
        ("view", {"shape": [1]}, "view: shape=[1]\n  expected: shape of kind ints"),
        ("view", {"shape": (True,)}, "view: shape=(True,)\n  expected: shape of kind ints"),
        ("cast", {"to": "f32"}, "cast: to='f32'\n  expected: to of kind dtype"),
        ("bmm", {"trans_a": 1}, "bmm: trans_a=1\n  expected: trans_a of kind bool"),
        (
            "linear",
            {"act": "swish"},
            "linear: act=swish\n  expected: act one of none, relu, sigmoid, tanh, gelu, gelu_tanh, silu, "
            "leaky_relu",
        ),
    ],
)
def test_attributes_are_checked(op, given, message):
    with pytest.raises(TypeRuleError) as error:
        complete_attributes(find_op(op), given)
    assert str(error.value) == message


def test_an_unknown_op_names_the_nearest():
    with pytest.raises(TypeRuleError) as error:
        find_op("sigmiod")
    assert str(error.value) == (
        "op: unknown op 'sigmiod'\n  expected: the name of an op\n  to mend: did you mean sigmoid?"
    )


def test_an_unknown_op_like_none_names_the_table():
    with pytest.raises(TypeRuleError) as error:
        find_op("zzzzzz")
    assert error.value.hint == "docs/ir.md lists all ops"


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_a_card_is_found_by_its_name_and_its_defaults_are_of_their_kind(op):
    assert find_op(op.name) is op
    assert repr(op) == f"<op {op.name}>"
    samples = {"int": 0, "float": 0.0, "bool": False, "str": "a", "dtype": DType.F32, "ints": (0,)}
    required = {
        s.name: samples[s.kind]
        for s in op.attributes
        if not isinstance(s.default, (int, float, str, tuple, DType))
    }
    assert [*complete_attributes(op, required)] == [spec.name for spec in op.attributes]
