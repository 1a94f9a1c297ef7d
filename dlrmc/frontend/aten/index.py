"""Reading elements by integer tensors."""

from __future__ import annotations

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


def _ids(builder: Builder, ids: Node) -> Node:
    return ids if ids.type.dtype in (DType.I32, DType.I64) else builder.cast(ids, DType.I64)


IMPORTERS = (
    (("aten.index.Tensor", "aten._unsafe_index.Tensor"), index),
    (("aten.index_select.default",), index_select),
    (("aten.gather.default",), gather),
)
