"""Sorting, largest elements and their places, and running sums. A NaN is larger than any number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlrmc.frontend.builder import Builder, Parts
from dlrmc.frontend.call import Call, normal_dim
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


def topk(builder: Builder, call: Call) -> Parts:
    """The largest or smallest k and their places; of equal ones the first."""
    x = call.tensor("self")
    return _sorted(builder, call, x, call["k"], descending=bool(call["largest"]))


def sort(builder: Builder, call: Call) -> Parts:
    """All elements in order and their places."""
    x = call.tensor("self")
    size = x.shape[normal_dim(call["dim"], x.type.rank)] if x.type.rank else 1
    return _sorted(builder, call, x, size, descending=bool(call["descending"]))


def argsort(builder: Builder, call: Call) -> Node:
    """The places of all elements in order."""
    return sort(builder, call).item(1)


def kth_value(builder: Builder, call: Call) -> Parts:
    """The k-th smallest element and its place."""
    x, k = call.tensor("self"), call["k"]
    if not x.type.rank:
        return _of_scalar(builder, x)
    dim = normal_dim(call["dim"], x.type.rank)
    shape = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    attributes = {"dim": dim, "count": k, "descending": False}
    place = builder.slice(builder.inner("argsort", x, **attributes), dim, k - 1, k)
    kept = shape if call["keepdim"] else (*shape[:dim], *shape[dim + 1 :])

    def item(index: int) -> Node:
        return builder.view(place if index else builder.inner("gather", x, place, dim=dim), kept)

    return Parts(item, 2)


def extreme_place(*, largest: bool) -> Callable[[Builder, Call], Node]:
    """`argmax` and `argmin` over one dimension or all: the first of equal elements, a NaN before all."""

    def import_place(builder: Builder, call: Call) -> Node:
        x = call.tensor("self")
        dim = call.get("dim")
        if dim is None or not x.type.rank:
            x, dim = builder.inner_view(x, (x.type.numel,)), 0
        return builder.view(
            first_place(builder, x, normal_dim(dim, x.type.rank), largest=largest), call.shape
        )

    return import_place


def first_place(builder: Builder, x: Node, dim: int, *, largest: bool) -> Node:
    """The place of the extreme element along a dimension, which is kept with size 1."""
    if not largest and x.type.dtype.is_float:
        # So that a NaN, which is the smallest here too, comes first.
        x, largest = builder.inner("neg", x), True
    return builder.inner("argsort", x, dim=dim, count=1, descending=largest)


def _sorted(builder: Builder, call: Call, x: Node, count: int, *, descending: bool) -> Parts:
    if not x.type.rank:
        return _of_scalar(builder, x)
    dim = normal_dim(call["dim"], x.type.rank)
    made: list[Node] = []

    def item(index: int) -> Node:
        # Both results need the places, which are computed once.
        if not made:
            made.append(builder.inner("argsort", x, dim=dim, count=count, descending=descending))
        return made[0] if index else builder.op("gather", (x, made[0]), {"dim": dim})

    return Parts(item, 2)


def _of_scalar(builder: Builder, x: Node) -> Parts:
    return Parts(lambda index: builder.scalar(0, DType.I64) if index else x, 2)


def running(op: str) -> Callable[[Builder, Call], Node]:
    """`cumsum` and `cumprod` in the result's dtype."""

    def import_running(builder: Builder, call: Call) -> Node:
        x = builder.cast(call.tensor("self"), call.dtype)
        if not x.type.rank:
            return x
        return builder.op(op, (x,), {"dim": normal_dim(call["dim"], x.type.rank)})

    return import_running


def flip(builder: Builder, call: Call) -> Node:
    """Dimensions backwards, by constant ids."""
    x = call.tensor("self")
    for dim in call["dims"]:
        dim = normal_dim(dim, x.type.rank)
        if x.type.rank and x.shape[dim] > 1:
            ids = builder.const(np.arange(x.shape[dim] - 1, -1, -1))
            x = builder.op("index_select", (x, ids), {"dim": dim})
    return x


def roll(builder: Builder, call: Call) -> Node:
    """Dimensions rotated, by two slices each."""
    x, dims = call.tensor("self"), list(call["dims"])
    if not dims:
        raise Refused("roll of a flattened tensor")
    for shift, dim in zip(call["shifts"], dims, strict=True):
        dim = normal_dim(dim, x.type.rank)
        size = x.shape[dim]
        cut = -shift % size if size else 0
        if cut:
            x = builder.cat([builder.slice(x, dim, cut, size), builder.slice(x, dim, 0, cut)], dim)
    return x


IMPORTERS = (
    (("aten.topk.default",), topk),
    (("aten.sort.default", "aten.sort.stable"), sort),
    (("aten.argsort.default", "aten.argsort.stable"), argsort),
    (("aten.kthvalue.default",), kth_value),
    (("aten.argmax.default",), extreme_place(largest=True)),
    (("aten.argmin.default",), extreme_place(largest=False)),
    (("aten.cumsum.default",), running("cumsum")),
    (("aten.cumprod.default",), running("cumprod")),
    (("aten.flip.default",), flip),
    (("aten.roll.default",), roll),
)
