"""Values with some elements replaced. A graph has no writes: the result is put together from both."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dlrmc.frontend.aten.scatter import put_at_ids
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
    """Elements replaced, or added to: at known places by one list of ids, by a mask by `where`."""
    x, values = call.tensor("self"), builder.cast(call.tensor("values"), call.dtype)
    indices = list(call["indices"])
    masks = [index for index in indices if index is not None and index.type.dtype is DType.BOOL]
    if masks:
        return _put_by_mask(builder, call, masks, indices)
    if not all(index is None or index.is_op("const") for index in indices):
        return put_at_ids(builder, call, indices)
    lead = next((dim for dim, index in enumerate(indices) if index is not None), x.type.rank)
    places = _places(x.shape[lead:], indices[lead:])
    if call["accumulate"] and len(np.unique(places)) != places.size:
        return put_at_ids(builder, call, indices)
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
    (("aten.diagonal.default", "aten.diagonal_copy.default"), diagonal),
)
