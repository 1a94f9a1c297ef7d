"""Operators that move elements. A view is a row-major reshape of the value: traced strides do not count."""

from __future__ import annotations

import math

from dlrmc.frontend.builder import Builder, Parts
from dlrmc.frontend.call import Call, normal_dim
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node


def view(builder: Builder, call: Call) -> Node:
    """Any reshape: the result's shape says all."""
    return builder.view(call.tensor("self"), call.shape)


def permute(builder: Builder, call: Call) -> Node:
    """Dimensions in another order, negative ones counted from the end."""
    x = call.tensor("self")
    return builder.permute(x, [normal_dim(dim, x.type.rank) for dim in call["dims"]])


def transpose(builder: Builder, call: Call) -> Node:
    """Two dimensions swapped; of `t`, the first two, of `mT`, the last two."""
    x = call.tensor("self")
    if x.type.rank < 2:
        return x
    first, second = (
        normal_dim(call.get(name, default), x.type.rank) for name, default in (("dim0", -2), ("dim1", -1))
    )
    perm = list(range(x.type.rank))
    perm[first], perm[second] = second, first
    return builder.permute(x, perm)


def expand(builder: Builder, call: Call) -> Node:
    """A broadcast: the result's shape says all (-1 in the argument keeps a size)."""
    return builder.expand(call.tensor("self"), call.shape)


def repeat(builder: Builder, call: Call) -> Node:
    """Each dimension repeated: a view with a 1 before each, expanded, and merged."""
    x = call.tensor("self")
    repeats = list(call["repeats"])
    shape = [1] * (len(repeats) - x.type.rank) + list(x.shape)
    if math.prod(repeats) == 1:
        return builder.view(x, shape)
    split = builder.inner_view(x, [size for pair in ((1, s) for s in shape) for size in pair])
    pairs = zip(repeats, shape, strict=True)
    wide = builder.inner("expand", split, shape=tuple(size for pair in pairs for size in pair))
    return builder.view(wide, call.shape)


def slice_(builder: Builder, call: Call) -> Node:
    """A range of one dimension; bounds may be negative, absent or INT64_MAX."""
    x = call.tensor("self")
    dim = normal_dim(call["dim"], x.type.rank)
    return _sliced(builder, x, dim, call.get("start", 0), call.get("end", x.shape[dim]), call.get("step", 1))


def narrow(builder: Builder, call: Call) -> Node:
    """A range by start and length."""
    x = call.tensor("self")
    dim = normal_dim(call["dim"], x.type.rank)
    start = call["start"] % max(x.shape[dim], 1) if call["start"] < 0 else call["start"]
    return _sliced(builder, x, dim, start, start + call["length"], 1)


def _sliced(builder: Builder, x: Node, dim: int, start: int, stop: int, step: int) -> Node:
    size = x.shape[dim]
    start, stop = (min(max(bound + size if bound < 0 else bound, 0), size) for bound in (start, stop))
    return builder.slice(x, dim, start, max(start, stop), step)


def select(builder: Builder, call: Call) -> Node:
    """One index of a dimension, which vanishes."""
    x = call.tensor("self")
    dim = normal_dim(call["dim"], x.type.rank)
    size = x.shape[dim]
    index = call["index"]
    if not -size <= index < size:
        raise Refused(f"index {index} of a dimension of size {size}")
    return builder.op("select", (x,), {"dim": dim, "index": index % size})


def unbind(builder: Builder, call: Call) -> Parts:
    """Every index of a dimension, as torch spells it: a slice of one, without its dimension."""
    x = call.tensor("self")
    dim = normal_dim(call["dim"], x.type.rank)
    shape = tuple(size for d, size in enumerate(x.shape) if d != dim)

    def item(index: int) -> Node:
        return builder.view(builder.slice(x, dim, index, index + 1), shape)

    return Parts(item, x.shape[dim])


def cat(builder: Builder, call: Call) -> Node:
    """Values one after the other, in the result's dtype; torch's legacy empty vectors count for nothing."""
    parts = [part for part in call.tensors("tensors") if part.shape != (0,) or call.type.rank == 1]
    dim = normal_dim(call.get("dim", 0), call.type.rank)
    if not parts:
        raise Refused("cat of nothing")
    return builder.cat([builder.cast(part, call.dtype) for part in parts], dim)


def stack(builder: Builder, call: Call) -> Node:
    """Values one after the other along a new dimension, as torch spells it: by one view where one will do."""
    dim = normal_dim(call.get("dim", 0), call.type.rank)
    parts = [builder.cast(part, call.dtype) for part in call.tensors("tensors")]
    if dim < call.type.rank - 1:
        return builder.inner_view(builder.cat(parts, dim), call.shape)
    return builder.cat([builder.inner_view(part, (*part.shape, 1)) for part in parts], dim)


def split_by_sizes(builder: Builder, call: Call) -> Parts:
    """Ranges of given lengths."""
    return _split(builder, call, list(call["split_sizes"]))


def split(builder: Builder, call: Call) -> Parts:
    """Ranges of one length, the last one shorter."""
    x = call.tensor("self")
    size = x.shape[normal_dim(call["dim"], x.type.rank)]
    length = call["split_size"]
    count = max(-(-size // length), 1) if length else 1
    return _split(builder, call, [min(length, size - length * k) for k in range(count)])


def chunk(builder: Builder, call: Call) -> Parts:
    """Ranges of the lengths that the results have."""
    dim = normal_dim(call["dim"], call.tensor("self").type.rank)
    return _split(builder, call, [result.shape[dim] for result in call.results if result is not None])


def _split(builder: Builder, call: Call, lengths: list[int]) -> Parts:
    x = call.tensor("self")
    dim = normal_dim(call["dim"], x.type.rank)

    def item(index: int) -> Node:
        start = sum(lengths[:index])
        return builder.slice(x, dim, start, start + lengths[index])

    return Parts(item, len(lengths))


def pad(builder: Builder, call: Call) -> Node:
    """Constants before and after; a negative pad cuts."""
    x = call.tensor("self")
    pads = list(call["pad"])
    for position in range(len(pads) // 2):
        dim = x.type.rank - 1 - position
        before, after = pads[2 * position], pads[2 * position + 1]
        x = _sliced(builder, x, dim, max(-before, 0), x.shape[dim] - max(-after, 0), 1)
        fills = [_fill(builder, call, x, dim, size) for size in (before, after)]
        x = builder.cat([part for part in (fills[0], x, fills[1]) if part is not None], dim)
    return x


def _fill(builder: Builder, call: Call, x: Node, dim: int, size: int) -> Node | None:
    if size <= 0:
        return None
    shape = tuple(size if d == dim else s for d, s in enumerate(x.shape))
    return builder.full(shape, call.get("value", 0), call.dtype)


def copy(builder: Builder, call: Call) -> Node:
    """`copy`: the source's values in the destination's shape and dtype."""
    return builder.expand(builder.cast(call.tensor("src"), call.dtype), call.shape)


def _all(*names: str) -> tuple[str, ...]:
    return tuple(f"aten.{name}" for name in names)


IMPORTERS = (
    (
        _all(
            "view.default",
            "_unsafe_view.default",
            "reshape.default",
            "view_copy.default",
            "flatten.using_ints",
            "unflatten.int",
            "unsqueeze.default",
            "squeeze.default",
            "squeeze.dim",
            "squeeze.dims",
        ),
        view,
    ),
    (_all("permute.default", "permute_copy.default"), permute),
    (_all("transpose.int", "t.default", "mT.default", "transpose_copy.int", "t_copy.default"), transpose),
    (_all("expand.default", "expand_as.default", "expand_copy.default"), expand),
    (_all("repeat.default"), repeat),
    (_all("slice.Tensor", "slice_copy.Tensor"), slice_),
    (_all("narrow.default", "narrow_copy.default"), narrow),
    (_all("select.int", "select_copy.int"), select),
    (_all("unbind.int", "unbind_copy.int"), unbind),
    (_all("cat.default"), cat),
    (_all("stack.default"), stack),
    (_all("split_with_sizes.default", "split_with_sizes_copy.default"), split_by_sizes),
    (_all("split.Tensor", "split_copy.Tensor"), split),
    (_all("chunk.default"), chunk),
    (_all("constant_pad_nd.default"), pad),
    (_all("copy.default"), copy),
)
