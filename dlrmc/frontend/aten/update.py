"""Values with some elements replaced. A graph has no writes: the result is put together from both."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call, normal_dim
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


def slice_scatter(builder: Builder, call: Call) -> Node:
    """A range of one dimension replaced."""
    x, source = call.tensor("self"), builder.cast(call.tensor("src"), call.dtype)
    dim = normal_dim(call["dim"], x.type.rank)
    size, step = x.shape[dim], call["step"]
    bounds = (call.get("start", 0), call.get("end", size))
    start, stop = (min(max(bound + size if bound < 0 else bound, 0), size) for bound in bounds)
    if step == 1:
        return _spliced(builder, x, source, dim, start, max(start, stop))
    ids = np.arange(size)
    places = np.arange(start, stop, step)
    ids[places] = size + np.arange(len(places))
    both = builder.cat([x, source], dim)
    return builder.op("index_select", (both, _ids(builder, ids)), {"dim": dim})


def select_scatter(builder: Builder, call: Call) -> Node:
    """One index of a dimension replaced."""
    x, source = call.tensor("self"), builder.cast(call.tensor("src"), call.dtype)
    dim = normal_dim(call["dim"], x.type.rank)
    index = call["index"] % x.shape[dim]
    wide = builder.inner_view(source, (*source.shape[:dim], 1, *source.shape[dim:]))
    return _spliced(builder, x, wide, dim, index, index + 1)


def _spliced(builder: Builder, x: Node, source: Node, dim: int, start: int, stop: int) -> Node:
    parts = [builder.slice(x, dim, 0, start), source, builder.slice(x, dim, stop, x.shape[dim])]
    return builder.cat([part for part in parts if part.shape[dim]] or [x], dim)


def index_put(builder: Builder, call: Call) -> Node:
    """Elements replaced at places known at compile time, or where a mask holds."""
    x, values = call.tensor("self"), builder.cast(call.tensor("values"), call.dtype)
    indices = list(call["indices"])
    masks = [index for index in indices if index is not None and index.type.dtype is DType.BOOL]
    if masks:
        return _put_by_mask(builder, call, masks, indices)
    if not all(index is None or index.is_op("const") for index in indices):
        raise Refused("index_put at places that are not known at compile time")
    lead = next((dim for dim, index in enumerate(indices) if index is not None), x.type.rank)
    places = _places(x.shape[lead:], indices[lead:])
    if call["accumulate"] and len(np.unique(places)) != places.size:
        raise Refused("index_put that adds several values at one place")
    wanted = builder.expand(values, (*x.shape[:lead], *places.shape))
    return _replaced(builder, call, x, wanted, places, lead)


def _put_by_mask(builder: Builder, call: Call, masks: Sequence[Node], indices: Sequence[Node | None]) -> Node:
    values, mask = call.tensor("values"), masks[0]
    is_leading = len(indices) == 1 and mask.shape == call.shape[: mask.type.rank]
    if not is_leading or values.type.numel != 1 or call["accumulate"]:
        raise Refused("index_put of several values where a mask holds")
    mask = builder.inner_view(mask, (*mask.shape, *(1,) * (call.type.rank - mask.type.rank)))
    value = builder.inner_view(builder.cast(values, call.dtype), ())
    return builder.op("where", (mask, value, call.tensor("self")))


def _places(shape: tuple[int, ...], indices: Sequence[Node | None]) -> np.ndarray:
    """Where in the flattened dimensions each value goes, in the shape that indexing gives."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    return numbers[tuple(slice(None) if index is None else index.value for index in indices)]


def _replaced(builder: Builder, call: Call, x: Node, values: Node, places: np.ndarray, lead: int) -> Node:
    """Every element read from x or from the values, by constant ids; the last value at a place counts."""
    size = math.prod(x.shape[lead:])
    ids = np.arange(size)
    flat_places = places.reshape(-1)
    ids[flat_places] = size + np.arange(flat_places.size)
    front = x.shape[:lead]
    rows = [builder.inner_view(x, (*front, size)), builder.inner_view(values, (*front, flat_places.size))]
    if call.get("accumulate"):
        old = builder.inner("index_select", rows[0], _ids(builder, flat_places), dim=lead)
        rows[1] = builder.inner("add", old, rows[1])
    both = builder.op("cat", (tuple(rows),), {"dim": lead}, name=f"{builder.name}_cat")
    taken = builder.inner("index_select", both, _ids(builder, ids), dim=lead)
    return builder.view(taken, x.shape)


def scatter(builder: Builder, call: Call) -> Node:
    """Elements replaced at ids along a dimension: each element looks for its own id among all."""
    x, dim, hits = _hits(builder, call)
    source = call.get("src")
    if source is None:
        count = builder.inner("sum", builder.cast(hits, DType.I64), dims=(dim + 1,), keepdim=False)
        is_hit = builder.inner("ne", count, builder.scalar(0, DType.I64))
        return builder.op("where", (is_hit, builder.scalar(call["value"], call.dtype), x))
    value = x
    for place in range(source.shape[dim]):
        is_hit = builder.inner("select", hits, dim=dim + 1, index=place)
        own = builder.slice(builder.cast(source, call.dtype), dim, place, place + 1)
        value = builder.inner("where", is_hit, own, value)
    return value


def scatter_add(builder: Builder, call: Call) -> Node:
    """Elements added at ids along a dimension, in the order of the ids."""
    x, dim, hits = _hits(builder, call)
    source = builder.cast(call.tensor("src"), call.dtype)
    shape = (*source.shape[:dim], 1, *source.shape[dim:])
    wide = builder.inner_view(source, shape)
    terms = builder.inner("where", hits, wide, builder.scalar(0, call.dtype))
    total = builder.inner("sum", terms, dims=(dim + 1,), keepdim=False)
    return builder.op("add", (x, builder.cast(total, call.dtype)))


def _hits(builder: Builder, call: Call) -> tuple[Node, int, Node]:
    """The operand, the dimension, and whether id k of an element's line names it: [..., size, ids, ...]."""
    x, ids = call.tensor("self"), call.tensor("index")
    if not x.type.rank:
        raise Refused("scatter into a scalar")
    dim = normal_dim(call["dim"], x.type.rank)
    others = [(x.shape[d], ids.shape[d]) for d in range(x.type.rank) if d != dim]
    source = call.get("src")
    if any(a != b for a, b in others) or (source is not None and source.shape != ids.shape):
        raise Refused(f"scatter of {ids.type} into {x.type}: sizes beside dimension {dim} must be equal")
    ids = builder.cast(ids, DType.I64)
    wide = builder.inner_view(ids, (*ids.shape[:dim], 1, *ids.shape[dim:]))
    rank = x.type.rank - dim
    numbers = np.arange(x.shape[dim]).reshape(x.shape[dim], *(1,) * rank)
    return x, dim, builder.inner("eq", wide, builder.graph.const(f"{builder.name}_places", numbers))


def diagonal(builder: Builder, call: Call) -> Node:
    """A diagonal of two dimensions, which becomes the last one."""
    x = call.tensor("self")
    first, second = (normal_dim(call[name], x.type.rank) for name in ("dim1", "dim2"))
    rest = [dim for dim in range(x.type.rank) if dim not in (first, second)]
    turned = builder.inner("permute", x, perm=(*rest, first, second))
    numbers = np.arange(call.shape[-1])
    rows, columns = numbers + max(-call["offset"], 0), numbers + max(call["offset"], 0)
    indices = (*[None] * len(rest), _ids(builder, rows), _ids(builder, columns))
    return builder.op("index", (turned, indices))


def _ids(builder: Builder, ids: np.ndarray) -> Node:
    return builder.graph.const(f"{builder.name}_ids", ids.astype(np.int64))


IMPORTERS = (
    (("aten.slice_scatter.default",), slice_scatter),
    (("aten.select_scatter.default",), select_scatter),
    (("aten.index_put.default", "aten._unsafe_index_put.default"), index_put),
    (("aten.scatter.value", "aten.scatter.src"), scatter),
    (("aten.scatter_add.default",), scatter_add),
    (("aten.diagonal.default", "aten.diagonal_copy.default"), diagonal),
)
