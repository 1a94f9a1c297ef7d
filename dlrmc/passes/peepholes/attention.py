"""Heads of attention that are split and joined by slices, and scaled products."""

from __future__ import annotations

import math

import numpy as np

from dlrmc.ir.graph import Node
from dlrmc.ir.strided import under_views
from dlrmc.ir.types import DType
from dlrmc.passes.builder import Builder
from dlrmc.passes.matching import Match
from dlrmc.passes.rule import Rule


def _even_slices(m: Match) -> tuple[Node, int, int] | None:
    """The value that all parts of a cat are slices of, one behind the other along another dimension.

    Returns:
        It, that dimension, and the size of a slice; None where the parts are anything else.
    """
    slices = [_slice_under(part, m.d) for part in m.parts]
    first = slices[0]
    if len(slices) < 2 or first is None:
        return None
    value, dim, size = first.inputs[0], first.attributes.int("dim"), first.shape[first.attributes.int("dim")]
    if value.shape[dim] != size * len(slices) or (first is m.parts[0] and dim == m.d):
        return None
    for place, each in enumerate(slices):
        if each is None or each.inputs[0] is not value or each.attributes.int("dim") != dim:
            return None
        if each.attributes.int("start") != place * size or each.shape[dim] != size:
            return None
        if each.attributes.int("step") != 1 or m.parts[place].shape != m.parts[0].shape:
            return None
    return value, dim, size


def _slice_under(part: Node, dim: int) -> Node | None:
    """The slice that a part of a cat is, or shows with a new dimension of size 1 where the cat joins."""
    if part.is_op("slice"):
        return part
    if not part.is_op("view") or not part.inputs[0].is_op("slice"):
        return None
    below = part.inputs[0]
    return below if part.shape == (*below.shape[:dim], 1, *below.shape[dim:]) else None


def _permuted(b: Builder, m: Match) -> Node:
    """The value with its slices numbered by a dimension of their own, moved to where the cat joins them."""
    found = _even_slices(m)
    assert found is not None
    value, dim, size = found
    split = b.view(value, (*value.shape[:dim], value.shape[dim] // size, size, *value.shape[dim + 1 :]))
    others = [axis if axis < dim else axis + 1 for axis in range(value.type.rank)]
    moved = b.permute(split, (*others[: m.d], dim, *others[m.d :]))
    return b.view_if_needed(moved, m.y.shape)


def _divides_product(m: Match) -> bool:
    is_number = m.c.is_op("const") and m.c.type.numel == 1 and m.x.type.dtype is DType.F32
    if not is_number or not under_views(m.x).is_op("bmm"):
        return False
    reciprocal = 1.0 / float(m.c.value.reshape(())) if float(m.c.value.reshape(())) else math.inf
    return float(np.finfo(np.float32).tiny) <= abs(reciprocal) <= float(np.finfo(np.float32).max)


def _times_reciprocal(b: Builder, m: Match) -> Node:
    reciprocal = np.float32(1.0 / float(m.c.value.reshape(())))
    return b.mul(m.x, b.const(np.full(m.c.shape, reciprocal, np.float32)))


RULES: tuple[Rule, ...] = (
    Rule(
        name="cat-of-even-slices-to-permute",
        why="Heads stacked or joined by slices are another order of dimensions, which needs no copy.",
        match="%y = cat(*%parts) {dim=$d}",
        where=lambda m: _even_slices(m) is not None,
        build=_permuted,
    ),
    Rule(
        name="quotient-of-product-to-mul",
        why="One multiplication; its rounding is less than that of the sums which the product is made of.",
        match="""%x : T[*S]
                 %y = div(%x, %c) : T[*S]""",
        where=_divides_product,
        build=_times_reciprocal,
    ),
)
