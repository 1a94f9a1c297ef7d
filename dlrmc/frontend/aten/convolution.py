"""Convolutions and poolings: windows of slices, which a linear layer reads as its parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlrmc.frontend.builder import Builder, Parts
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node

# A linear layer reads so many slices where they are; of more, the windows are gathered once.
MOST_PARTS = 32


@dataclass(frozen=True)
class Window:
    """How a window moves over the spatial dimensions of a padded x[B, C, ...].

    Args:
        kernel, stride, dilation: of each spatial dimension.
        output: the result's size of each.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    output: tuple[int, ...]

    def places(self) -> list[tuple[int, ...]]:
        """The positions within the window, in row-major order."""
        return list(itertools.product(*(range(size) for size in self.kernel)))

    def slice(self, builder: Builder, x: Node, place: Sequence[int]) -> Node:
        """What stands at one position of every window: [B, C, output]."""
        for axis, offset in enumerate(place):
            start = offset * self.dilation[axis]
            stop = start + (self.output[axis] - 1) * self.stride[axis] + 1
            x = builder.slice(x, axis + 2, start, stop, self.stride[axis])
        return x


def convolution(builder: Builder, call: Call) -> Node:
    """A convolution of any rank: the sum over the window is a linear layer over the slices' channels."""
    x, weight, bias = call.tensor("input"), call.tensor("weight"), call.get("bias")
    if call["transposed"]:
        raise Refused("a transposed convolution")
    rank, groups = weight.type.rank - 2, call["groups"]
    x = _padded(builder, x, _each(call["padding"], rank), 0)
    window = Window(
        weight.shape[2:], _each(call["stride"], rank), _each(call["dilation"], rank), call.shape[2:]
    )
    if groups == 1:
        return builder.view(_group(builder, x, weight, bias, window), call.shape)
    if weight.shape[:2] == (groups, 1):
        return _by_channel(builder, call, x, window)
    return _grouped(builder, call, x, window)


def _grouped(builder: Builder, call: Call, x: Node, window: Window) -> Node:
    """Each group of channels has a layer of its own."""
    weight, bias, groups = call.tensor("weight"), call.get("bias"), call["groups"]
    outputs, channels = weight.shape[0] // groups, weight.shape[1]
    results: list[Node] = []
    for group in range(groups):
        first, last = group * outputs, (group + 1) * outputs
        own = builder.slice(x, 1, group * channels, (group + 1) * channels)
        own_bias = None if bias is None else builder.slice(bias, 0, first, last)
        own_weight = builder.slice(weight, 0, first, last)
        shape = (call.shape[0], outputs, *call.shape[2:])
        results.append(builder.inner_view(_group(builder, own, own_weight, own_bias, window), shape))
    return builder.cat(results, 1)


def _by_channel(builder: Builder, call: Call, x: Node, window: Window) -> Node:
    """A window for each channel: a sum of products, element by element."""
    weight, bias = call.tensor("weight"), call.get("bias")
    ones = (1,) * len(window.kernel)
    total: Node | None = None
    for place in window.places():
        factor = weight
        for axis, offset in enumerate(place):
            factor = builder.slice(factor, axis + 2, offset, offset + 1)
        factor = builder.inner_view(factor, (1, weight.shape[0], *ones))
        term = builder.inner("mul", window.slice(builder, x, place), factor)
        total = term if total is None else builder.inner("add", total, term)
    if total is None:
        raise Refused("a convolution with an empty window")
    return (
        total if bias is None else builder.op("add", (total, builder.inner_view(bias, (*bias.shape, *ones))))
    )


def _group(builder: Builder, x: Node, weight: Node, bias: Node | None, window: Window) -> Node:
    """The result [B, O, ...] of one group; dimensions that the window covers whole count as channels."""
    whole = [
        axis
        for axis, size in enumerate(window.kernel)
        if window.output[axis] == 1 and size == x.shape[axis + 2] and size > 1 and window.dilation[axis] == 1
    ]
    moved = [axis for axis in range(len(window.kernel)) if axis not in whole]
    order = (0, *(axis + 2 for axis in moved), 1, *(axis + 2 for axis in whole))
    outputs = weight.shape[0]
    width = weight.shape[1] * math.prod(window.kernel[axis] for axis in whole)
    small = Window(*(tuple(sizes[axis] for axis in moved) for sizes in _sizes(window)))
    columns = builder.inner_view(
        _permuted(builder, weight, order), (outputs, math.prod(small.kernel) * width)
    )
    last = _permuted(builder, x, (0, 1, *(axis + 2 for axis in moved), *(axis + 2 for axis in whole)))
    parts = _parts(builder, last, small, width)
    flat = builder.op("linear", (tuple(parts), columns, bias))
    return _permuted(builder, flat, (0, flat.type.rank - 1, *range(1, flat.type.rank - 1)))


def _sizes(window: Window) -> tuple[tuple[int, ...], ...]:
    return (window.kernel, window.stride, window.dilation, window.output)


def _parts(builder: Builder, x: Node, window: Window, width: int) -> list[Node]:
    """The windows of x[B, C, moved..., whole...] as parts [B, output..., width], one for each position."""
    rank = len(window.kernel)
    order = (0, *range(2, rank + 2), 1, *range(rank + 2, x.type.rank))
    shape = (x.shape[0], *window.output, width)
    if math.prod(window.kernel) <= MOST_PARTS:
        slices = (window.slice(builder, x, place) for place in window.places())
        return [builder.inner_view(_permuted(builder, each, order), shape) for each in slices]
    flat = builder.inner_view(
        _permuted(builder, x, order), (x.shape[0], math.prod(x.shape[2 : rank + 2]), width)
    )
    ids = _window_ids(window, x.shape[2 : rank + 2])
    gathered = builder.inner("index_select", flat, builder.graph.const(f"{builder.name}_windows", ids), dim=1)
    return [builder.inner_view(gathered, (*shape[:-1], math.prod(window.kernel) * width))]


def _window_ids(window: Window, sizes: tuple[int, ...]) -> np.ndarray:
    """For every output and position within the window, the place in the flattened spatial dimensions."""
    ids = np.zeros((1, 1), np.int64)
    for axis, size in enumerate(sizes):
        starts = np.arange(window.output[axis]) * window.stride[axis]
        offsets = np.arange(window.kernel[axis]) * window.dilation[axis]
        along = starts[:, None] + offsets[None, :]
        ids = ids[:, None, :, None] * size + along[None, :, None, :]
        ids = ids.reshape(ids.shape[0] * ids.shape[1], -1)
    return ids.reshape(-1)


def max_pool(builder: Builder, call: Call) -> Parts:
    """The largest of each window; padding is less than any number."""
    x, window = _pooled(builder, call, -math.inf)

    def item(index: int) -> Node:
        if index != 0:
            raise Refused("the positions that max_pool gives are not supported, only the values")
        slices = [window.slice(builder, x, place) for place in window.places()]
        value = slices[0]
        for each in slices[1:]:
            value = builder.inner("maximum", value, each)
        return builder.inner_view(value, _as_given(call, value))

    return Parts(item, 2)


def average_pool(builder: Builder, call: Call) -> Node:
    """The mean of each window."""
    x, window = _pooled(builder, call, 0.0)
    count = call.get("divisor_override") or math.prod(window.kernel)
    if any(_each(call["padding"], len(window.kernel))) and not call["count_include_pad"]:
        raise Refused("average pooling that leaves out its padding")
    value: Node | None = None
    for place in window.places():
        each = window.slice(builder, x, place)
        value = each if value is None else builder.inner("add", value, each)
    if value is None:
        raise Refused("average pooling over empty windows")
    mean = builder.op("div", (value, builder.scalar(float(count), call.dtype)))
    return builder.inner_view(mean, call.shape)


def _pooled(builder: Builder, call: Call, fill: float) -> tuple[Node, Window]:
    """The padded operand [B, C, ...] of a pooling and its window."""
    if call.get("ceil_mode"):
        raise Refused("pooling with ceil_mode")
    rank = len(call["kernel_size"])
    x = call.tensor("self")
    if x.type.rank == rank + 1:
        x = builder.inner_view(x, (1, *x.shape))
    kernel = _each(call["kernel_size"], rank)
    padding, dilation = _each(call["padding"], rank), _each(call.get("dilation") or [1], rank)
    stride = _each(call.get("stride") or kernel, rank)
    x = _padded(builder, x, padding, fill)
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    output = tuple((x.shape[a + 2] - spans[a]) // stride[a] + 1 for a in range(rank))
    return x, Window(kernel, stride, dilation, output)


def _as_given(call: Call, value: Node) -> tuple[int, ...]:
    """The result's shape: without a batch where the operand has none."""
    has_batch = call.tensor("self").type.rank == value.type.rank
    return value.shape if has_batch else value.shape[1:]


def _padded(builder: Builder, x: Node, padding: tuple[int, ...], fill: float) -> Node:
    for axis, size in enumerate(padding):
        if size:
            shape = tuple(size if d == axis + 2 else s for d, s in enumerate(x.shape))
            edge = builder.full(shape, fill, x.type.dtype)
            x = builder.cat([edge, x, edge], axis + 2)
    return x


def _permuted(builder: Builder, x: Node, order: tuple[int, ...]) -> Node:
    return x if list(order) == list(range(len(order))) else builder.inner("permute", x, perm=order)


def _each(sizes: Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for each spatial dimension; a single one counts for all."""
    given = tuple(int(size) for size in sizes)
    return given * rank if len(given) == 1 else given


IMPORTERS = (
    (("aten.convolution.default",), convolution),
    (("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default"), max_pool),
    (("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default"), average_pool),
)
