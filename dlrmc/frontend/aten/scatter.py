"""Elements replaced, or added to, at ids along a dimension, and at indices that a request chooses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dlrmc.frontend.aten.writes import Writes, added, reduced, replaced
from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call, normal_dim
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType

Write = Callable[[Builder, Writes], Node]


def scatter(builder: Builder, call: Call) -> Node:
    """Elements replaced; of several values for one place the last."""
    source = call.get("src")
    source = builder.scalar(call["value"], call.dtype) if source is None else source
    return _at_ids(builder, call, source, replaced)


def scatter_add(builder: Builder, call: Call) -> Node:
    """Elements added to, in the order of the ids."""
    return _at_ids(builder, call, call.tensor("src"), added)


def scatter_reduce(builder: Builder, call: Call) -> Node:
    """Elements and the values for their place: their sum, product, mean, largest or smallest."""
    how, with_self = call["reduce"], bool(call["include_self"])

    def write(builder: Builder, writes: Writes) -> Node:
        return reduced(builder, writes, how, with_self=with_self)

    return _at_ids(builder, call, call.tensor("src"), write)


def _at_ids(builder: Builder, call: Call, source: Node, write: Write) -> Node:
    """What is written to the block of x that the ids speak of: beside `dim` x may have more lines."""
    x, ids = call.tensor("self"), call.tensor("index")
    if not x.type.rank or ids.type.rank != x.type.rank:
        raise Refused(f"scatter of {ids.type} into {x.type}")
    dim = normal_dim(call["dim"], x.type.rank)
    others = [axis for axis in range(x.type.rank) if axis != dim]
    blocks = [x]
    for axis in others:
        blocks.append(builder.slice(blocks[-1], axis, 0, ids.shape[axis]))
    for axis in range(source.type.rank):
        source = builder.slice(source, axis, 0, ids.shape[axis])
    value = write(builder, Writes(blocks[-1], ids, builder.cast(source, call.dtype), dim))
    for axis, block in reversed(list(zip(others, blocks, strict=False))):
        left = builder.slice(block, axis, ids.shape[axis], block.shape[axis])
        value = builder.cat([part for part in (value, left) if part.shape[axis]] or [block], axis)
    return value


def put_at_ids(builder: Builder, call: Call, indices: Sequence[Node | None]) -> Node:
    """`index_put` at places that are not known at compile time.

    Indices beside each other are one place in their dimensions flattened. Where the first one is 0, 1, ..
    for the rows of x, as in `x[torch.arange(batch), ids]`, each row looks at its own ids only.
    """
    x, values = call.tensor("self"), builder.cast(call.tensor("values"), call.dtype)
    lead = next(dim for dim, index in enumerate(indices) if index is not None)
    given = [index for index in indices[lead:] if index is not None]
    if len(given) != len(indices) - lead:
        raise Refused("index_put at indices that are not beside each other")
    shape = np.broadcast_shapes(*(index.shape for index in given))
    front, rest = x.shape[:lead], x.shape[len(indices) :]
    if values.type.numel != 1:
        values = builder.expand(values, (*front, *shape, *rest))
    if not lead and len(given) > 1 and _names_each_row(builder, given[0], shape, x.shape[0]):
        front, given, shape = x.shape[:1], given[1:], shape[1:]
    sizes = x.shape[len(front) : len(indices)]
    write = added if call["accumulate"] else replaced
    rows = front if not lead else ()
    ids = _flat_places(builder, given, sizes, (*rows, *shape))
    ids = builder.inner_view(ids, (*rows, math.prod(shape), *(1,) * len(rest)))
    if values.type.numel != 1:
        values = builder.inner_view(values, (*front, math.prod(shape), *rest))
    flat = builder.inner_view(x, (*front, math.prod(sizes), *rest))
    return builder.view(write(builder, Writes(flat, ids, values, len(front))), x.shape)


def _names_each_row(builder: Builder, index: Node, shape: tuple[int, ...], rows: int) -> bool:
    """Whether the index is 0, 1, .. along the leading dimension of all indices' shape, and nothing else."""
    if not shape or index.shape != (rows, *(1,) * (len(shape) - 1)) or shape[0] != rows:
        return False
    value = builder.constants.value(index)
    return value is not None and bool((value.reshape(-1) == np.arange(rows)).all())


def _flat_places(
    builder: Builder, indices: Sequence[Node], sizes: Sequence[int], shape: tuple[int, ...]
) -> Node:
    """The places in the flattened dimensions, i64 of that shape; an index below 0 counts from the end."""
    total: Node | None = None
    zero = builder.scalar(0, DType.I64)
    for number, (index, size) in enumerate(zip(indices, sizes, strict=True)):
        index = builder.cast(index, DType.I64)
        from_end = builder.inner("add", index, builder.scalar(size, DType.I64))
        place = builder.inner("where", builder.inner("lt", index, zero), from_end, index)
        stride = builder.scalar(math.prod(sizes[number + 1 :]), DType.I64)
        place = builder.inner("mul", place, stride) if number + 1 < len(sizes) else place
        total = place if total is None else builder.inner("add", total, place)
    assert total is not None
    return builder.expand(total, shape)


IMPORTERS = (
    (("aten.scatter.value", "aten.scatter.src"), scatter),
    (("aten.scatter_add.default",), scatter_add),
    (("aten.scatter_reduce.two",), scatter_reduce),
)
