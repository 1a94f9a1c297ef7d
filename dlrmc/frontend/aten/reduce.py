"""Reductions over dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dlrmc.frontend.aten.order import first_place
from dlrmc.frontend.builder import Builder, Parts
from dlrmc.frontend.call import Call, normal_dim
from dlrmc.frontend.dtypes import dtype_of_torch
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.attributes import Attribute
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType

Import = Callable[[Builder, Call], Node]


def dims_of(call: Call, rank: int) -> tuple[int, ...]:
    """The dimensions reduced, sorted; none named means all."""
    given = call.get("dim", [])
    listed = list(given) if isinstance(given, list | tuple) else [given]
    if rank == 0:
        return ()
    return tuple(sorted({normal_dim(dim, rank) for dim in listed})) or tuple(range(rank))


def reduction(op: str) -> Import:
    """A reduction computed in the result's dtype (sums of bool and integers are int64)."""

    def import_reduction(builder: Builder, call: Call) -> Node:
        x = builder.cast(call.tensor("self"), call.dtype)
        attributes = {"dims": dims_of(call, x.type.rank), "keepdim": bool(call.get("keepdim", False))}
        reduced = x if x.type.rank == 0 else builder.op(op, (x,), attributes)
        return builder.cast(reduced, call.dtype)

    return import_reduction


def truth_reduction(op: str) -> Import:
    """Whether the count of nonzeros is not 0 (any), or that of zeros is 0 (all)."""

    def import_truth(builder: Builder, call: Call) -> Node:
        x = builder.cast(call.tensor("self"), DType.BOOL)
        if x.type.rank == 0:
            return x
        flags = x if op == "any" else builder.inner("logical_not", x)
        dims = dims_of(call, x.type.rank)
        count = builder.inner(
            "sum", builder.cast(flags, DType.I64), dims=dims, keepdim=bool(call.get("keepdim", False))
        )
        return builder.op("ne" if op == "any" else "eq", (count, builder.scalar(0, DType.I64)))

    return import_truth


def extreme_of_dim(op: str) -> Callable[[Builder, Call], Parts]:
    """`max.dim` and `min.dim`: the values and their places, the first of equal ones."""

    def import_extreme(builder: Builder, call: Call) -> Parts:
        x = call.tensor("self")

        def item(index: int) -> Node:
            if index != 0:
                return _places(builder, call, x, largest=op == "amax")
            attributes = {"dims": dims_of(call, x.type.rank), "keepdim": bool(call["keepdim"])}
            return x if x.type.rank == 0 else builder.op(op, (x,), attributes)

        return Parts(item, 2)

    return import_extreme


def _places(builder: Builder, call: Call, x: Node, *, largest: bool) -> Node:
    if x.type.rank == 0:
        return builder.scalar(0, DType.I64)
    dim = normal_dim(call["dim"], x.type.rank)
    place = first_place(builder, x, dim, largest=largest)
    return place if call["keepdim"] else builder.inner_view(place, (*x.shape[:dim], *x.shape[dim + 1 :]))


def softmax(op: str) -> Import:
    """`softmax` and `log_softmax` over one dimension, in the result's dtype."""

    def import_softmax(builder: Builder, call: Call) -> Node:
        x = builder.cast(call.tensor("self"), call.dtype)
        return builder.op(op, (x,), {"dim": normal_dim(call["dim"], x.type.rank)})

    return import_softmax


def variance(builder: Builder, call: Call) -> Node:
    """`var.correction`: squared distances from the mean, summed and divided by n - correction."""
    x = call.tensor("self")
    dims = dims_of(call, x.type.rank)
    keepdim = bool(call["keepdim"])
    count = 1
    for dim in dims:
        count *= x.shape[dim]
    left = count - call.get("correction", 1)
    if left <= 0:
        raise Refused(f"variance of {count} elements with correction {call.get('correction', 1)}")
    distance = builder.inner("sub", x, builder.inner("mean", x, dims=dims, keepdim=True))
    total = builder.inner("sum", builder.inner("mul", distance, distance), dims=dims, keepdim=keepdim)
    return builder.op("div", (total, builder.scalar(float(left), x.type.dtype)))


def variance_and_mean(builder: Builder, call: Call) -> Parts:
    """`var_mean.correction`: both over the same dimensions."""

    def item(index: int) -> Node:
        if index == 0:
            return variance(builder, call)
        x = call.tensor("self")
        attributes = {"dims": dims_of(call, x.type.rank), "keepdim": bool(call["keepdim"])}
        return x if x.type.rank == 0 else builder.op("mean", (x,), attributes)

    return Parts(item, 2)


def vector_norm(builder: Builder, call: Call) -> Node:
    """A vector norm of any order; 16-bit types are summed and rooted in f32."""
    order = float(call.get("ord", call.get("p", 2)))
    given = call.get("dtype")
    compute = call.dtype if given is None else dtype_of_torch(given)
    if compute in (DType.F16, DType.BF16):
        compute = DType.F32
    x = builder.cast(call.tensor("self"), compute)
    if x.type.rank == 0:
        return builder.cast(builder.inner("abs", x), call.dtype)
    attributes = {"dims": dims_of(call, x.type.rank), "keepdim": bool(call.get("keepdim", False))}
    return builder.cast(_norm(builder, x, order, attributes), call.dtype)


def _norm(builder: Builder, x: Node, order: float, attributes: Mapping[str, Attribute]) -> Node:
    """`sum(abs(x) ** order) ** (1 / order)`, and its limits; of order 0 the count of what is not 0."""
    if order == 2.0:
        return builder.op("sqrt", (builder.inner("sum", builder.inner("mul", x, x), **attributes),))
    dtype, size = x.type.dtype, builder.inner("abs", x)
    if math.isinf(order):
        return builder.op("amax" if order > 0 else "amin", (size,), attributes)
    if order == 1.0:
        return builder.op("sum", (size,), attributes)
    if order == 0.0:
        counted = builder.cast(builder.inner("ne", size, builder.scalar(0, dtype)), dtype)
        return builder.op("sum", (counted,), attributes)
    total = builder.inner("sum", builder.inner("pow", size, builder.scalar(order, dtype)), **attributes)
    return builder.op("pow", (total, builder.scalar(1.0 / order, dtype)))


IMPORTERS = (
    (("aten.sum.dim_IntList", "aten.sum.default"), reduction("sum")),
    (("aten.mean.dim", "aten.mean.default"), reduction("mean")),
    (("aten.amax.default", "aten.max.default"), reduction("amax")),
    (("aten.amin.default", "aten.min.default"), reduction("amin")),
    (("aten.prod.dim_int", "aten.prod.default"), reduction("prod")),
    (("aten.any.default", "aten.any.dim", "aten.any.dims"), truth_reduction("any")),
    (("aten.all.default", "aten.all.dim", "aten.all.dims"), truth_reduction("all")),
    (("aten.max.dim",), extreme_of_dim("amax")),
    (("aten.min.dim",), extreme_of_dim("amin")),
    (("aten.softmax.int", "aten._softmax.default"), softmax("softmax")),
    (("aten.log_softmax.int", "aten._log_softmax.default"), softmax("log_softmax")),
    (("aten.var.correction",), variance),
    (("aten.var_mean.correction",), variance_and_mean),
    (("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim"), vector_norm),
)
