"""Operators that leave no node: identities on values, and assertions the import has settled."""

from __future__ import annotations

from dlrmc.frontend.builder import Builder, Parts, Value
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node

DROPOUT_REASON = (
    "dropout is live: call model.eval() before torch.export.export "
    "(F.dropout is live in evaluation too, unless it is given training=self.training)"
)


def identity(_builder: Builder, call: Call) -> Node:
    """The value itself: a graph has no aliasing, so a copy is the value."""
    return call.tensor("self" if "self" in call.arguments else "input")


def dropout(_builder: Builder, call: Call) -> Node:
    """Dropout in evaluation mode."""
    if call["train"] and call["p"] != 0:
        raise Refused(DROPOUT_REASON)
    return call.tensor("input")


def native_dropout(_builder: Builder, call: Call) -> Parts:
    """Dropout with its mask, which only training needs."""
    if call["train"] is not False and call["p"] != 0:
        raise Refused(DROPOUT_REASON)
    return Parts(lambda _index: call.tensor("input"), 1)


def assertion(_builder: Builder, _call: Call) -> None:
    """Dtype, device and layout of a traced value: the graph's types hold the first, and it has no others."""


def value_assertion(_builder: Builder, _call: Call) -> None:
    """A condition on values, as of `one_hot` on its ids; kernels check the ids that they read by."""


def size_assertion(_builder: Builder, call: Call) -> None:
    """A condition on sizes, which are numbers by now."""
    if not call["self"]:
        raise Refused(f"these input sizes break the exported condition: {call.get('assert_msg', '')}")


def getitem(_builder: Builder, _call: Call) -> Value:
    """Result k of an op with several; the walker takes it itself."""
    raise Refused("a getitem outside of the walker")


IMPORTERS = (
    (
        (
            "aten.clone.default",
            "aten.alias.default",
            "aten.detach.default",
            "aten.detach_.default",
            "aten.contiguous.default",
            "aten.lift_fresh_copy.default",
            "aten.lift_fresh.default",
            "aten.positive.default",
        ),
        identity,
    ),
    (("aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default"), dropout),
    (("aten.native_dropout.default",), native_dropout),
    (
        (
            "aten._assert_tensor_metadata.default",
            "aten.sym_constrain_range.default",
            "aten.sym_constrain_range_for_size.default",
        ),
        assertion,
    ),
    (("aten._assert_async.msg", "aten._assert_async.default"), value_assertion),
    (("aten._assert_scalar.default",), size_assertion),
    (("getitem",), getitem),
)
