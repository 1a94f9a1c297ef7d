"""Selection by masks that are constants: the elements that they select, and how many, are known at import.

Sources: aten.masked_select, aten.nonzero, aten.index.Tensor with bool indices.
"""

from __future__ import annotations

import math

import numpy as np

from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.op import Array
from dlrmc.ir.types import DType

MASK_DTYPES = (DType.BOOL, DType.U8)


def masked_select(builder: Builder, call: Call) -> Node:
    """The elements under a mask in row-major order, [n]; both are broadcast to each other's shape.

    Leading dimensions along which the mask stays the same, as the batch, are kept apart: what is selected is
    then one list of places for all of them.
    """
    x, mask = call.tensor("self"), call.tensor("mask")
    shape = np.broadcast_shapes(x.shape, mask.shape)
    places = np.broadcast_to(known_mask(builder, mask, "masked_select"), shape)
    lead = _same_leading(places)
    ids = np.flatnonzero(places[(0,) * lead])
    rows, columns = math.prod(shape[:lead]), math.prod(shape[lead:])
    whole = x if x.shape == shape else builder.inner("expand", x, shape=shape)
    flat = builder.inner_view(whole, (rows, columns))
    picked = builder.inner("index_select", flat, builder.const(ids), dim=1)
    return builder.view(picked, (rows * len(ids),))


def nonzero(builder: Builder, call: Call) -> Node:
    """The places of all elements that are not zero, i64[n, rank]."""
    value = known_mask(builder, call.tensor("self"), "nonzero")
    return builder.const(np.argwhere(value).astype(np.int64))


def known_mask(builder: Builder, mask: Node, what: str) -> Array:
    """The mask's value.

    Raises:
        Refused: it depends on an input or a weight.
    """
    value = builder.constants.value(mask)
    if value is None:
        raise Refused(
            f"{what} by a mask ({mask.type}) that is no constant: the result's shape depends on its values "
            "(multiply by the mask or use torch.where instead)"
        )
    return value


def mask_ids(builder: Builder, mask: Node) -> list[Node]:
    """What a mask of rank r stands for among the indices of `x[...]`: r constant lists of ids."""
    value = known_mask(builder, mask, "indexing")
    return [builder.const(ids.astype(np.int64)) for ids in np.nonzero(value)]


def _same_leading(places: Array) -> int:
    """How many leading dimensions the mask is the same along."""
    if places.size == 0:
        return 0
    lead = 0
    while lead < places.ndim:
        here = places[(0,) * lead]
        if here.strides[0] and here.shape[0] > 1 and (here != here[:1]).any():
            break
        lead += 1
    return lead


IMPORTERS = (
    (("aten.masked_select.default",), masked_select),
    (("aten.nonzero.default",), nonzero),
)
