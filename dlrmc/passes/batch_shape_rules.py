"""The rules for the place of the batch of the ops that move values and compute none."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dlrmc.ir.graph import Node
from dlrmc.ir.op import many_optional, one
from dlrmc.ir.rows import MIXED, UNIFORM
from dlrmc.passes.batch_axis import Placement, Spot
from dlrmc.passes.batch_front import Front
from dlrmc.passes.batch_layout import Layout
from dlrmc.passes.batch_rule import BatchRule


class _ViewRule(BatchRule):
    """The elements keep their order, so what stands before the batch stays there."""

    def place(self, layout: Layout, node: Node) -> Placement:
        return layout.placement(node.inputs[0])

    def rebuild(self, front: Front, node: Node) -> Node:
        return front.view(node, front.value(node.inputs[0]), front.layout.shape_in_front(node))


class _PermuteRule(BatchRule):
    """The dimension that holds the batch moves as a whole."""

    def place(self, layout: Layout, node: Node) -> Placement:
        (x,) = node.inputs
        spot = layout.spot(x)
        if spot is None:
            return MIXED
        moved = spot.at(node.attributes.ints("perm").index(spot.dim))
        return moved.axis_in(node.shape, is_same=layout.is_same(x))

    def rebuild(self, front: Front, node: Node) -> Node:
        (x,) = node.inputs
        spot = front.layout.spot_of(x)
        perm = [0]
        for dim in node.attributes.ints("perm"):
            perm.extend(spot.sides_in_front if dim == spot.dim else (spot.in_front(dim),))
        return front.permute(node, front.value(x), tuple(perm))


class _ExpandRule(BatchRule):
    """Other dimensions are repeated; or a uniform value is, once for each row."""

    def place(self, layout: Layout, node: Node) -> Placement:
        (x,) = node.inputs
        new = node.type.rank - x.type.rank
        spot = layout.spot(x)
        if spot is not None:
            return spot.at(spot.dim + new).axis_in(node.shape, is_same=layout.is_same(x))
        spot = self._spread(layout, node) if layout.placement(x) is UNIFORM else None
        return MIXED if spot is None else spot.axis_in(node.shape, is_same=True)

    def _spread(self, layout: Layout, node: Node) -> Spot | None:
        """The dimension that rows are made in: the leading one, or the first new one of the batch's size."""
        (x,) = node.inputs
        old = (1,) * (node.type.rank - x.type.rank) + x.shape
        for dim, (before, after) in enumerate(zip(old, node.shape, strict=True)):
            is_batch = after == layout.batch or (dim == 0 and after % layout.batch == 0)
            if before == 1 and is_batch:
                return Spot(dim, 1, after // layout.batch)
        return None

    def rebuild(self, front: Front, node: Node) -> Node:
        (x,) = node.inputs
        layout = front.layout
        new = (1,) * (node.type.rank - x.type.rank)
        if layout.is_placed(x):
            value = front.value(x)
            value = front.view(node, value, (value.shape[0], *new, *value.shape[1:]))
        else:
            value = front.view(node, x, layout.spot_of(node).stretched((*new, *x.shape)))
        return front.expand(node, value, layout.shape_in_front(node))


class _SliceRule(BatchRule):
    """A window in another dimension, or whole batches of those that stand one after the other in one."""

    def place(self, layout: Layout, node: Node) -> Placement:
        (x,) = node.inputs
        spot = layout.spot(x)
        if spot is None:
            return MIXED
        if node.attributes.int("dim") == spot.dim:
            window = self._outer_window(layout, node, spot)
            if window is None:
                return MIXED
            spot = Spot(spot.dim, len(window), spot.inner)
        return spot.axis_in(node.shape, is_same=layout.is_same(x))

    def _outer_window(self, layout: Layout, node: Node, spot: Spot) -> range | None:
        """Which of the batches within the dimension the window holds; None where it cuts one."""
        one_batch = layout.batch * spot.inner
        bounds = node.attributes.int("start"), node.attributes.int("stop")
        if node.attributes.int("step") != 1 or any(bound % one_batch for bound in bounds):
            return None
        return range(bounds[0] // one_batch, bounds[1] // one_batch)

    def rebuild(self, front: Front, node: Node) -> Node:
        (x,) = node.inputs
        layout = front.layout
        spot = layout.spot_of(x)
        dim = node.attributes.int("dim")
        if dim != spot.dim:
            return front.op(node, front.value(x), dim=spot.in_front(dim))
        window = self._outer_window(layout, node, spot)
        assert window is not None
        bounds = {"start": window.start, "stop": window.stop}
        value = front.value(x)
        if spot.outer > 1:
            value = front.op(node, value, dim=spot.dim + 1, **bounds)
        return front.view(node, value, layout.shape_in_front(node))


class _SelectRule(BatchRule):
    """One index of another dimension, which disappears."""

    def place(self, layout: Layout, node: Node) -> Placement:
        (x,) = node.inputs
        spot, dim = layout.spot(x), node.attributes.int("dim")
        if spot is None or dim == spot.dim:
            return MIXED
        return spot.at(spot.dim - (dim < spot.dim)).axis_in(node.shape, is_same=layout.is_same(x))

    def rebuild(self, front: Front, node: Node) -> Node:
        (x,) = node.inputs
        return front.op(
            node, front.value(x), dim=front.layout.spot_of(x).in_front(node.attributes.int("dim"))
        )


class _CatRule(BatchRule):
    """Parts one after the other in another dimension, or batch after batch in the one that holds it."""

    def place(self, layout: Layout, node: Node) -> Placement:
        parts, dim = node.inputs, node.attributes.int("dim")
        spots = [layout.spot(part) for part in parts]
        first = spots[0]
        if first is None:
            return MIXED
        outer = 0
        for spot in spots:
            if spot is None or (spot.dim, spot.inner) != (first.dim, first.inner):
                return MIXED
            outer += spot.outer
        if dim != first.dim and any(spot != first for spot in spots):
            return MIXED
        whole = Spot(first.dim, outer if dim == first.dim else first.outer, first.inner)
        return whole.axis_in(node.shape, is_same=all(layout.is_same(part) for part in parts))

    def rebuild(self, front: Front, node: Node) -> Node:
        layout = front.layout
        dim = node.attributes.int("dim")
        spot = layout.spot_of(node)
        parts = front.alike(node.inputs)
        if dim != spot.dim:
            return front.op(node, parts, dim=spot.in_front(dim))
        apart = tuple(self._with_outer(front, node, *pair) for pair in zip(node.inputs, parts, strict=True))
        value = front.op(node, apart, dim=dim + 1)
        return front.view(node, value, layout.shape_in_front(node))

    def _with_outer(self, front: Front, node: Node, part: Node, value: Node) -> Node:
        """The part with a dimension for the batches in it, were it of size 1."""
        spot = front.layout.spot_of(part)
        at = spot.dim + 1
        rest = value.shape[at + (spot.outer > 1) :]
        return front.view(node, value, (*value.shape[:at], spot.outer, *rest))


class _IndexRule(BatchRule):
    """Uniform index tensors side by side in other dimensions."""

    def place(self, layout: Layout, node: Node) -> Placement:
        x = one(node.operands[0])
        spot, used = layout.spot(x), self._used(node)
        is_adjacent = used == list(range(used[0], used[-1] + 1))
        if spot is None or spot.dim in used or not is_adjacent:
            return MIXED
        if not all(layout.is_whole(index) for index in node.inputs[1:]):
            return MIXED
        grown = node.type.rank - x.type.rank if used[-1] < spot.dim else 0
        return spot.at(spot.dim + grown).axis_in(node.shape, is_same=layout.is_same(x))

    def _used(self, node: Node) -> list[int]:
        return [dim for dim, index in enumerate(many_optional(node.operands[1])) if index is not None]

    def rebuild(self, front: Front, node: Node) -> Node:
        x, indices = one(node.operands[0]), many_optional(node.operands[1])
        spot = front.layout.spot_of(x)
        placed: dict[int, Node] = {}
        for dim, index in enumerate(indices):
            if index is not None:
                placed[spot.in_front(dim)] = index
        moved = tuple(placed.get(dim) for dim in range(max(placed) + 1))
        return front.op(node, front.value(x), moved)


SHAPE_RULES: Mapping[str, BatchRule] = MappingProxyType(
    {
        "view": _ViewRule(),
        "permute": _PermuteRule(),
        "expand": _ExpandRule(),
        "slice": _SliceRule(),
        "select": _SelectRule(),
        "cat": _CatRule(),
        "index": _IndexRule(),
    }
)
