"""Values that are strided windows onto another value's buffer: views that cost nothing to read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dlrmc.ir.graph import Node
from dlrmc.ir.op import one
from dlrmc.ir.types import TensorType

VIEW_OPS = ("view", "permute", "expand", "slice", "select")


def views_on(node: Node) -> list[Node]:
    """The views from the node down, itself first; none where it is no view."""
    views: list[Node] = []
    while node.is_op(*VIEW_OPS):
        views.append(node)
        node = node.inputs[0]
    return views


def under_views(node: Node) -> Node:
    """The value that the node shows in another way: itself where it is no view."""
    views = views_on(node)
    return views[-1].inputs[0] if views else node


@dataclass(frozen=True, slots=True)
class Strided:
    """Element (i, j, ...) of a value is element `offset + i*strides[0] + j*strides[1] + ...` of the root.

    Offsets and strides count elements; an expanded dimension has stride 0.
    """

    root: Node
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements stand in row-major order without gaps."""
        return self.strides == packed_strides(self.shape, like=self.strides)


def packed_strides(shape: tuple[int, ...], like: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Row-major strides in elements; where a dimension has size 1, the stride of `like` is kept."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    if like is not None:
        strides = [like[axis] if shape[axis] == 1 else strides[axis] for axis in range(len(shape))]
    return tuple(strides)


def resolve_strided(node: Node, root_strides: dict[Node, tuple[int, ...]] | None = None) -> Strided | None:
    """Follow views down to a value with a buffer of its own.

    Args:
        node: the value to resolve; one that is no view resolves to itself.
        root_strides: strides of roots that are not packed.

    Returns:
        The window, or None where a `view` cuts across the strides below it.
    """
    if not node.is_op(*VIEW_OPS):
        strides = (root_strides or {}).get(node, packed_strides(node.shape))
        return Strided(node, 0, node.shape, strides)
    base = resolve_strided(one(node.operands[0]), root_strides)
    return None if base is None else _apply(node, base)


def input_window(node: Node) -> Strided | None:
    """The window of a view that is one run of an input's elements, which a kernel can read where they are."""
    if not node.is_op(*VIEW_OPS):
        return None
    window = resolve_strided(node)
    is_run = window is not None and window.root.is_op("input") and window.is_contiguous
    return window if is_run else None


def _apply(node: Node, base: Strided) -> Strided | None:
    attributes = node.attributes
    match node.op.name:
        case "permute":
            perm = attributes.ints("perm")
            return _window(base, node.type, 0, tuple(base.strides[axis] for axis in perm))
        case "expand":
            return _window(base, node.type, 0, _expanded(node.shape, base))
        case "slice":
            dim, start, step = attributes.int("dim"), attributes.int("start"), attributes.int("step")
            strides = tuple(s * step if axis == dim else s for axis, s in enumerate(base.strides))
            return _window(base, node.type, start * base.strides[dim], strides)
        case "select":
            dim = attributes.int("dim")
            rest = base.strides[:dim] + base.strides[dim + 1 :]
            return _window(base, node.type, attributes.int("index") * base.strides[dim], rest)
        case _:
            strides = reshape_strides(base.shape, base.strides, node.shape)
            return None if strides is None else _window(base, node.type, 0, strides)


def _window(base: Strided, type: TensorType, offset: int, strides: tuple[int, ...]) -> Strided:
    return Strided(base.root, base.offset + offset, type.shape, strides)


def _expanded(shape: tuple[int, ...], base: Strided) -> tuple[int, ...]:
    new = len(shape) - len(base.shape)
    kept = (
        0 if size == 1 != wide else stride
        for size, wide, stride in zip(base.shape, shape[new:], base.strides, strict=True)
    )
    return (0,) * new + tuple(kept)


def reshape_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], target: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The strides that show a strided buffer in another shape without a copy, or None where there are none.

    The dimensions of both shapes are matched in groups of equal size, right to left; within a group of the
    old shape the strides must nest.
    """
    if math.prod(shape) == 0:
        return packed_strides(target)
    old = [(size, stride) for size, stride in zip(shape, strides, strict=True) if size != 1]
    result: list[int] = []
    remaining = list(target)
    while remaining and (old or math.prod(remaining) > 1):
        result_group = _match_group(old, remaining)
        if result_group is None:
            return None
        result[:0] = result_group
    return (1,) * len(remaining) + tuple(result)


def _match_group(old: list[tuple[int, int]], remaining: list[int]) -> list[int] | None:
    """Take one group of equal size off the right end of both lists; the strides of the new one, or None."""
    size, innermost = old.pop() if old else (1, 1)
    outer = size * innermost
    group = [remaining.pop()]
    while math.prod(group) != size:
        if math.prod(group) < size:
            group.insert(0, remaining.pop())
            continue
        wider, stride = old.pop()
        if stride != outer:
            return None
        size, outer = size * wider, stride * wider
    return [innermost * math.prod(group[axis + 1 :]) for axis in range(len(group))]


def row_strides(window: Strided) -> tuple[int, int] | None:
    """The strides of a window seen as a matrix [rows, last dimension], or None where its rows do not nest."""
    if not window.shape:
        return None
    columns = window.shape[-1]
    rows = math.prod(window.shape[:-1])
    strides = reshape_strides(window.shape[:-1], window.strides[:-1], (rows,))
    if strides is None:
        return None
    return strides[0], window.strides[-1] if columns > 1 else 1
