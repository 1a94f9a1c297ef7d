"""Reading elements by integer tensors."""

from __future__ import annotations

import numpy as np

from dlrmc.frontend.aten.mask import MASK_DTYPES, mask_ids
from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call, normal_dim
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


def index(builder: Builder, call: Call) -> Node:
    """`x[:, i, j]`: None keeps a dimension, negative values count from the end, masks are constants."""
    x = call.tensor("self")
    indices = list(call["indices"])
    indices = [ids for given in indices for ids in _each(builder, given)]
    while indices and indices[-1] is None:
        indices.pop()
    return builder.op("index", (x, tuple(indices)))


def _each(builder: Builder, given: Node | None) -> list[Node | None]:
    """One entry of the indices as integer tensors: a mask is as many as it has dimensions."""
    if given is None:
        return [None]
    return [*mask_ids(builder, given)] if given.type.dtype in MASK_DTYPES else [_ids(builder, given)]


def index_select(builder: Builder, call: Call) -> Node:
    """Slices of one dimension."""
    x = call.tensor("self")
    ids = _ids(builder, call.tensor("index"))
    ids = builder.inner_view(ids, (1,)) if ids.type.rank == 0 else ids
    if x.type.rank == 0:
        raise Refused("index_select of a scalar")
    return builder.op("index_select", (x, ids), {"dim": normal_dim(call["dim"], x.type.rank)})


def gather(builder: Builder, call: Call) -> Node:
    """One element of a dimension for each id."""
    x = call.tensor("self")
    ids = _ids(builder, call.tensor("index"))
    if x.type.rank == 0 or ids.type.rank != x.type.rank:
        raise Refused(f"gather from {x.type} by {ids.type}")
    return builder.op("gather", (x, ids), {"dim": normal_dim(call["dim"], x.type.rank)})


def unfold(builder: Builder, call: Call) -> Node:
    """All windows of one dimension, which hold it in a new last one; by constant ids."""
    x, size, step = call.tensor("self"), call["size"], call["step"]
    if not x.type.rank:
        return builder.view(x, call.shape)
    dim = normal_dim(call["dimension"], x.type.rank)
    starts = np.arange(0, x.shape[dim] - size + 1, step)
    ids = builder.const((starts[:, None] + np.arange(size)).reshape(-1))
    taken = builder.inner("index_select", x, ids, dim=dim)
    windows = builder.inner_view(taken, (*x.shape[:dim], len(starts), size, *x.shape[dim + 1 :]))
    rest = [axis for axis in range(x.type.rank + 1) if axis != dim + 1]
    return builder.permute(windows, (*rest, dim + 1))


def repeated_ids(builder: Builder, call: Call) -> Node:
    """`repeat_interleave.Tensor`: the number k as often as repeats[k] says."""
    repeats = call.tensor("repeats")
    known = builder.constants.value(repeats)
    if known is not None:
        return builder.const(np.repeat(np.arange(known.size), known))
    size = call.get("output_size")
    if size is None:
        raise Refused("repeats of a request without output_size: the result's shape depends on their values")
    # So many repeats have ended before each place.
    ends = builder.inner("cumsum", builder.cast(repeats, DType.I64), dim=0)
    places = builder.graph.const(f"{builder.name}_places", np.arange(size).reshape(size, 1))
    has_ended = builder.cast(builder.inner("le", ends, places), DType.I64)
    return builder.op("sum", (has_ended,), {"dims": (1,)})


def _ids(builder: Builder, ids: Node) -> Node:
    return ids if ids.type.dtype in (DType.I32, DType.I64) else builder.cast(ids, DType.I64)


IMPORTERS = (
    (("aten.index.Tensor", "aten._unsafe_index.Tensor"), index),
    (("aten.index_select.default",), index_select),
    (("aten.gather.default",), gather),
    (("aten.unfold.default", "aten.unfold_copy.default"), unfold),
    (("aten.repeat_interleave.Tensor",), repeated_ids),
)
