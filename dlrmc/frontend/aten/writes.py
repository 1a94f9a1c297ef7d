"""Values written along one dimension of a tensor, at places that a request chooses.

A graph has no writes: each element compares its own place with all that are named.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dlrmc.frontend.builder import Builder
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


@dataclass(frozen=True)
class Writes:
    """What is written to `x`.

    Attributes:
        x: [.., size, ..], the dimension at `dim`.
        ids: integers, broadcast to [.., count, ..], whose trailing dimensions are those of x; an id that is
            out of range names no element.
        values: of x's dtype, broadcast to [.., count, ..].
        dim: of x.
    """

    x: Node
    ids: Node
    values: Node
    dim: int

    @property
    def count(self) -> int:
        """How many ids each line of x has."""
        return self.ids.shape[self.ids.type.rank - self.behind]

    @property
    def behind(self) -> int:
        """The dimension counted from the end."""
        return self.x.type.rank - self.dim

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written, or nothing can be."""
        return not self.ids.type.numel or not self.x.type.numel


def replaced(builder: Builder, writes: Writes) -> Node:
    """Each element by the last value that is meant for it."""
    if writes.is_empty:
        return writes.x
    if writes.values.type.numel == 1:
        return _filled(builder, writes)
    x, values = writes.x, writes.values
    last = _last_place(builder, writes)
    is_hit = builder.inner("ge", last, builder.scalar(0, DType.I64))
    place = builder.inner("maximum", last, builder.scalar(0, DType.I64))
    lines = (*x.shape[: writes.dim], writes.count, *x.shape[writes.dim + 1 :])
    chosen = builder.inner(
        "gather", builder.expand(values, lines), builder.expand(place, x.shape), dim=writes.dim
    )
    return builder.op("where", (is_hit, chosen, x))


def added(builder: Builder, writes: Writes) -> Node:
    """Each element and the sum of the values that are meant for it, in their order."""
    if writes.is_empty:
        return writes.x
    return builder.op("add", (writes.x, _over_values(builder, writes, "sum", 0)))


def reduced(builder: Builder, writes: Writes, how: str, *, with_self: bool) -> Node:
    """Each element that values are meant for by their `sum`, `prod`, `mean`, `amax` or `amin`.

    The element itself counts among them where `with_self` holds.
    """
    if writes.is_empty:
        return writes.x
    x, dtype = writes.x, writes.x.type.dtype
    if dtype is DType.BOOL:
        raise Refused(f"scatter of bool by {how}")
    op, neutral = _reductions(dtype)["sum" if how == "mean" else how]
    result = _over_values(builder, writes, op, neutral)
    if with_self:
        joining = {"sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum"}[op]
        result = builder.inner(joining, x, result)
    hits = builder.inner("sum", builder.cast(_hits(builder, writes), DType.I64), dims=_hit_dims(writes))
    if how == "mean":
        count = builder.inner("add", hits, builder.scalar(1, DType.I64)) if with_self else hits
        result = builder.inner("div" if dtype.is_float else "floor_div", result, builder.cast(count, dtype))
    is_hit = builder.inner("ne", hits, builder.scalar(0, DType.I64))
    return builder.op("where", (is_hit, result, x))


def _reductions(dtype: DType) -> dict[str, tuple[str, float | int]]:
    """The op that reduces, and the number that leaves its result as it is."""
    low: float | int = -np.inf
    high: float | int = np.inf
    if dtype.is_integer:
        low, high = int(np.iinfo(dtype.numpy.name).min), int(np.iinfo(dtype.numpy.name).max)
    return {"sum": ("sum", 0), "prod": ("prod", 1), "amax": ("amax", low), "amin": ("amin", high)}


def _filled(builder: Builder, writes: Writes) -> Node:
    """One value at every place that is named."""
    last = _last_place(builder, writes)
    is_hit = builder.inner("ge", last, builder.scalar(0, DType.I64))
    return builder.op("where", (is_hit, builder.inner_view(writes.values, ()), writes.x))


def _last_place(builder: Builder, writes: Writes) -> Node:
    """The number of the last id that names an element, -1 where none does; broadcasts to x."""
    numbers = _numbers(builder, writes.count, writes.behind - 1)
    named = builder.inner("where", _hits(builder, writes), numbers, builder.scalar(-1, DType.I64))
    return builder.inner("amax", named, dims=_hit_dims(writes))


def _over_values(builder: Builder, writes: Writes, op: str, neutral: float | int) -> Node:
    """A reduction of the values that are meant for each element."""
    x, dim = writes.x, writes.dim
    values = builder.expand(writes.values, (*x.shape[:dim], writes.count, *x.shape[dim + 1 :]))
    wide = builder.inner_view(values, (*values.shape[:dim], 1, *values.shape[dim:]))
    terms = builder.inner("where", _hits(builder, writes), wide, builder.scalar(neutral, x.type.dtype))
    return builder.cast(builder.inner(op, terms, dims=(dim + 1,)), x.type.dtype)


def _hits(builder: Builder, writes: Writes) -> Node:
    """Whether an id names an element: [.., size, count, ..], broadcast."""
    ids = builder.cast(writes.ids, DType.I64)
    front = ids.type.rank - writes.behind
    wide = builder.inner_view(ids, (*ids.shape[:front], 1, *ids.shape[front:]))
    return builder.inner("eq", wide, _numbers(builder, writes.x.shape[writes.dim], writes.behind))


def _hit_dims(writes: Writes) -> tuple[int, ...]:
    """The dimension of the ids in the hits."""
    return (writes.ids.type.rank - writes.behind + 1,)


def _numbers(builder: Builder, count: int, behind: int) -> Node:
    """0, 1, .. in front of so many dimensions of one element."""
    numbers = np.arange(count).reshape(count, *(1,) * behind)
    return builder.graph.const(f"{builder.name}_places", numbers)
