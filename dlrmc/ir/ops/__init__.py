"""The registry of op cards: explicit tuples, in order, one family a file."""

from __future__ import annotations

import difflib
from functools import cache
from types import MappingProxyType

from dlrmc.errors import TypeRuleError
from dlrmc.ir.op import Op
from dlrmc.ir.ops import (
    elementwise,
    embedding,
    index,
    interaction,
    kernel,
    leaf,
    linear,
    order,
    quantized_bags,
    reduce,
    shape,
)

ALL_OPS: tuple[Op, ...] = (
    *leaf.OPS,
    *elementwise.OPS,
    *linear.OPS,
    *embedding.OPS,
    *quantized_bags.OPS,
    *shape.OPS,
    *reduce.OPS,
    *order.OPS,
    *index.OPS,
    *interaction.OPS,
    *kernel.OPS,
)


@cache
def _by_name() -> MappingProxyType[str, Op]:
    return MappingProxyType({op.name: op for op in ALL_OPS})


def find_op(name: str) -> Op:
    """The card of that name.

    Raises:
        TypeRuleError: where there is none; the message names the nearest.
    """
    cards = _by_name()
    if name in cards:
        return cards[name]
    near = difflib.get_close_matches(name, cards, n=1)
    hint = f"did you mean {near[0]}?" if near else "docs/ir.md lists all ops"
    raise TypeRuleError("op", found=f"unknown op {name!r}", expected="the name of an op", hint=hint)
