"""How each op carries the batch from its operands to its result, wherever it stands there.

A rule says where the result holds the batch, and computes it with the batch in front from operands that have
it there. It is MIXED, the safe answer, wherever the op would work along the batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Elementwise, map_operands, one, optional
from dlrmc.ir.rows import MIXED
from dlrmc.passes.batch_axis import Placement, Spot
from dlrmc.passes.batch_front import Front
from dlrmc.passes.batch_layout import Layout
from dlrmc.passes.batch_rule import BatchRule
from dlrmc.passes.batch_shape_rules import SHAPE_RULES


class _ElementwiseRule(BatchRule):
    """Operands hold the batch in the same place after broadcasting, or broadcast over it."""

    def place(self, layout: Layout, node: Node) -> Placement:
        spot = self._spot(layout, node)
        if spot is None or not all(self._rides(layout, node, operand, spot) for operand in node.inputs):
            return MIXED
        return spot.axis_in(node.shape, is_same=not any(layout.differs(operand) for operand in node.inputs))

    def rebuild(self, front: Front, node: Node) -> Node:
        spot = self._spot(front.layout, node)
        assert spot is not None
        return front.op(
            node, *map_operands(node.operands, lambda operand: self._operand(front, node, operand, spot))
        )

    def _operand(self, front: Front, node: Node, operand: Node, spot: Spot) -> Node:
        missing = node.type.rank - operand.type.rank
        if self._aligned(front.layout, node, operand) == spot:
            value = front.value(operand)
            return front.view(node, value, (value.shape[0], *(1,) * missing, *value.shape[1:]))
        if spot.dim < missing:
            return operand
        return front.view(node, operand, spot.stretched((*(1,) * missing, *operand.shape)))

    def _spot(self, layout: Layout, node: Node) -> Spot | None:
        """Where the first operand that differs by row holds the batch; if none does, the first of all."""
        placed = [operand for operand in node.inputs if layout.spot(operand) is not None]
        placed.sort(key=layout.is_same)
        return self._aligned(layout, node, placed[0]) if placed else None

    def _aligned(self, layout: Layout, node: Node, operand: Node) -> Spot | None:
        spot = layout.spot(operand)
        return None if spot is None else spot.at(spot.dim + node.type.rank - operand.type.rank)

    def _rides(self, layout: Layout, node: Node, operand: Node, spot: Spot) -> bool:
        if self._aligned(layout, node, operand) == spot:
            return True
        dim = spot.dim - (node.type.rank - operand.type.rank)
        return layout.is_whole(operand) and (dim < 0 or operand.shape[dim] == 1)


class _LastRule(BatchRule):
    """Works along the last dimension of one operand, or looks its entries up; all others are uniform."""

    def __init__(self, place: int, *, is_lookup: bool = False) -> None:
        self._place = place
        self._is_lookup = is_lookup

    def place(self, layout: Layout, node: Node) -> Placement:
        operand = node.operands[self._place]
        parts = operand if isinstance(operand, tuple) else (operand,)
        inside = [part for part in parts if part is not None]
        others = [value for value in node.inputs if not any(value is part for part in inside)]
        spot = layout.common_spot(inside)
        if spot is None or not all(layout.is_whole(other) for other in others):
            return MIXED
        if not self._is_lookup and spot.dim == inside[0].type.rank - 1:
            return MIXED
        return spot.axis_in(node.shape, is_same=all(layout.is_same(part) for part in inside))

    def rebuild(self, front: Front, node: Node) -> Node:
        operands = list(node.operands)
        moved = front.alike(node.operands[self._place])
        operands[self._place] = moved if isinstance(node.operands[self._place], tuple) else moved[0]
        return front.op(node, *operands)


class _AlongRule(BatchRule):
    """Works along one dimension that is not the batch's; a second operand is uniform."""

    def place(self, layout: Layout, node: Node) -> Placement:
        x, *others = node.inputs
        spot = layout.spot(x)
        dim = node.attributes.int("dim")
        if spot is None or dim == spot.dim or not all(layout.is_whole(other) for other in others):
            return MIXED
        return spot.axis_in(node.shape, is_same=layout.is_same(x))

    def rebuild(self, front: Front, node: Node) -> Node:
        x, *others = node.inputs
        dim = front.layout.spot_of(x).in_front(node.attributes.int("dim"))
        return front.op(node, front.value(x), *others, dim=dim)


class _ReductionRule(BatchRule):
    """Reduces dimensions, the batch's not among them."""

    def place(self, layout: Layout, node: Node) -> Placement:
        (x,) = node.inputs
        spot, dims = layout.spot(x), node.attributes.ints("dims")
        if spot is None or spot.dim in dims:
            return MIXED
        gone = 0 if node.attributes.bool("keepdim") else sum(dim < spot.dim for dim in dims)
        return spot.at(spot.dim - gone).axis_in(node.shape, is_same=layout.is_same(x))

    def rebuild(self, front: Front, node: Node) -> Node:
        (x,) = node.inputs
        spot = front.layout.spot_of(x)
        return front.op(
            node, front.value(x), dims=tuple(spot.in_front(dim) for dim in node.attributes.ints("dims"))
        )


class _MatricesRule(BatchRule):
    """Treats each entry of the leading dimension, which holds the batch in all operands but some."""

    def __init__(self, *uniform: int) -> None:
        self._uniform = uniform

    def place(self, layout: Layout, node: Node) -> Placement:
        rest = [one(node.operands[place]) for place in self._uniform]
        placed = [operand for operand in node.inputs if not self._is_uniform(node, operand)]
        spot = layout.common_spot(placed)
        if spot is None or spot.dim or not all(layout.is_whole(each) for each in rest):
            return MIXED
        return spot.axis_in(node.shape, is_same=all(layout.is_same(value) for value in placed))

    def rebuild(self, front: Front, node: Node) -> Node:
        layout = front.layout
        placed = [operand for operand in dict.fromkeys(node.inputs) if not self._is_uniform(node, operand)]
        values = zip(placed, front.alike(tuple(placed)), strict=True)
        folded = {operand: self._folded(front, node, operand, value) for operand, value in values}
        operands = map_operands(node.operands, lambda operand: folded.get(operand, operand))
        return front.view(node, front.op(node, *operands), layout.shape_in_front(node))

    def _is_uniform(self, node: Node, operand: Node) -> bool:
        return any(operand is node.operands[place] for place in self._uniform)

    def _folded(self, front: Front, node: Node, operand: Node, value: Node) -> Node:
        """The value with all that shared the leading dimension with the batch behind it there."""
        sides = front.layout.spot_of(operand).sides
        lead = value.shape[0] * math.prod(sides)
        return front.view(node, value, (lead, *value.shape[1 + len(sides) :]))


class _BagRule(_MatricesRule):
    """Bags of fixed length, which are rows of ids; where jagged bags begin is not the batch's to say."""

    def place(self, layout: Layout, node: Node) -> Placement:
        return MIXED if optional(node.operands[2]) is not None else super().place(layout, node)


class _GatherRule(BatchRule):
    """Picks along one dimension; x and ids hold the batch in the same other one."""

    def place(self, layout: Layout, node: Node) -> Placement:
        spot = layout.common_spot(node.inputs)
        x, ids = node.inputs
        if spot is None or spot.dim == node.attributes.int("dim") or x.shape[spot.dim] != ids.shape[spot.dim]:
            return MIXED
        return spot.axis_in(node.shape, is_same=all(layout.is_same(each) for each in node.inputs))

    def rebuild(self, front: Front, node: Node) -> Node:
        x, ids = node.inputs
        dim = front.layout.spot_of(x).in_front(node.attributes.int("dim"))
        return front.op(node, *front.alike((x, ids)), dim=dim)


_ELEMENTWISE = _ElementwiseRule()
_ALONG = _AlongRule()
_REDUCTION = _ReductionRule()

_RULES: Mapping[str, BatchRule] = MappingProxyType(
    {
        "linear": _LastRule(0),
        "layer_norm": _LastRule(0),
        "embedding": _LastRule(1, is_lookup=True),
        "softmax": _ALONG,
        "log_softmax": _ALONG,
        "argsort": _ALONG,
        "cumsum": _ALONG,
        "cumprod": _ALONG,
        "index_select": _ALONG,
        "gather": _GatherRule(),
        "sum": _REDUCTION,
        "mean": _REDUCTION,
        "amax": _REDUCTION,
        "amin": _REDUCTION,
        "prod": _REDUCTION,
        "bmm": _MatricesRule(),
        "pairwise_dot": _MatricesRule(),
        "embedding_bag": _BagRule(0),
        **SHAPE_RULES,
    }
)


def find_rule(node: Node) -> BatchRule | None:
    """The rule of the node's op; None where the op has none."""
    return _ELEMENTWISE if isinstance(node.op, Elementwise) else _RULES.get(node.op.name)


def find_layout(graph: Graph, batch: int) -> Layout:
    """Where every value holds the batch, by these rules; `batch` is 2 or more."""
    return Layout(graph, batch, lambda node: None if (rule := find_rule(node)) is None else rule.place)
