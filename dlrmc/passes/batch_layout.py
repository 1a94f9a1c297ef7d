"""The analysis behind `batch-first`: where the batch is in every value of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.op import RowFacts, map_operands
from dlrmc.ir.rows import MIXED, UNIFORM, Rows, RowTag
from dlrmc.ir.strided import VIEW_OPS
from dlrmc.ir.types import TensorType
from dlrmc.passes.batch_axis import BatchAxis, Placement, Shape, Spot, find_spot

# The transfer rule of an op whose operands are not all rows already.
Rule = Callable[["Layout", Node], Placement]


class Layout:
    """Placements of all values, found in one walk over the graph.

    An op whose operands hold the batch in front is judged by its own card, as row programs do; any other one
    by the rule given for it.
    """

    def __init__(self, graph: Graph, batch: int, rules: Callable[[Node], Rule | None]) -> None:
        self.graph = graph
        self.batch = batch
        self._rules = rules
        self._placements: dict[Node, Placement] = {}
        self._spots: dict[Node, Spot | None] = {}
        self._tags: dict[Node, RowTag] = {}
        self._row_ops: set[Node] = set()
        for node in graph.nodes:
            self._note(node, self._placed(node))

    # -- questions -------------------------------------------------------------------------------------------

    def placement(self, node: Node) -> Placement:
        """Where the batch is in the value."""
        return self._placements[node]

    def is_placed(self, node: Node) -> bool:
        """Whether the value holds the batch somewhere."""
        return isinstance(self._placements[node], BatchAxis)

    def is_same(self, node: Node) -> bool:
        """Whether the value holds the batch, and its rows are equal."""
        axis = self._placements[node]
        return isinstance(axis, BatchAxis) and axis.is_same

    def differs(self, node: Node) -> bool:
        """Whether the value holds the batch, and its rows are not known to be equal."""
        axis = self._placements[node]
        return isinstance(axis, BatchAxis) and not axis.is_same

    def is_uniform(self, node: Node) -> bool:
        """Whether the value is the same in every request, with or without a dimension for the batch."""
        return self._placements[node] is UNIFORM or self.is_same(node)

    def is_whole(self, node: Node) -> bool:
        """Whether a row program reads all of the value for each row, as it does weights."""
        return self._tags[node] is UNIFORM

    def spot(self, node: Node) -> Spot | None:
        """The dimension that holds the batch."""
        return self._spots[node]

    def spot_of(self, node: Node) -> Spot:
        """The dimension that holds the batch, for a value where a rule has found one."""
        spot = self._spots[node]
        assert spot is not None, f"no dimension of %{node.name} holds the batch"
        return spot

    def common_spot(self, nodes: Sequence[Node]) -> Spot | None:
        """The dimension that holds the batch in all of them, in the same way."""
        spots = [self._spots[node] for node in nodes]
        return spots[0] if spots and all(spot == spots[0] for spot in spots) else None

    def is_leading(self, node: Node) -> bool:
        """Whether the value holds the batch in front, as a row program reads it."""
        spot = self._spots[node]
        return spot is not None and spot.is_leading

    def rows(self, node: Node) -> int:
        """The size that the leading dimension has with the batch in front: 1 where the rows are equal."""
        return 1 if self.is_same(node) else self.batch

    def box(self, node: Node) -> tuple[int, int, int]:
        """The sides of a placed value: elements before the batch, the batch, elements after it."""
        axis = self._placements[node]
        assert isinstance(axis, BatchAxis), f"%{node.name} holds no batch"
        return axis.before, self.batch, node.type.numel // (axis.before * self.batch)

    def shape_in_front(self, node: Node) -> Shape:
        """The shape of a placed value with the batch in front; a matrix where a reshape cut the batch."""
        spot = self._spots[node]
        if spot is None:
            return (self.rows(node), node.type.numel // self.batch)
        return spot.shape_in_front(node.shape, self.rows(node))

    def is_row_op(self, node: Node) -> bool:
        """Whether row programs can take the op as it is: its card says rows of its operands' tags."""
        return node in self._row_ops

    # -- the walk --------------------------------------------------------------------------------------------

    def _note(self, node: Node, placement: Placement) -> None:
        self._placements[node] = placement
        is_axis = isinstance(placement, BatchAxis)
        self._spots[node] = find_spot(node.shape, placement.before, self.batch) if is_axis else None
        self._tags[node] = self._tag(node, placement)

    def _placed(self, node: Node) -> Placement:
        if node.is_op(*LEAVES) or node.has_body or node.is_op("item"):
            return self._source(node)
        if not node.type.numel:
            return MIXED
        is_uniform = all(self.is_uniform(operand) for operand in node.inputs)
        if not is_uniform and isinstance(self._card(node), Rows):
            self._row_ops.add(node)
            return BatchAxis(before=1)
        is_known = all(self._placements[operand] is not MIXED for operand in node.inputs)
        rule = self._rules(node) if is_known else None
        placement = MIXED if rule is None else rule(self, node)
        return UNIFORM if placement is MIXED and is_uniform else placement

    def _source(self, node: Node) -> Placement:
        """What is not computed here: it holds the batch in front, or in the first dimension of its size."""
        if node.is_op("weight", "derive"):
            return UNIFORM
        if node.is_op("const"):
            return self._of_constant(node)
        if not isinstance(node.result_type, TensorType) or not node.type.numel:
            return MIXED
        dim = self.batch_dim(node.shape)
        return MIXED if dim is None else BatchAxis(before=int(np.prod(node.shape[:dim], dtype=np.int64)))

    def batch_dim(self, shape: Shape) -> int | None:
        """The dimension that is the batch by its size: a multiple in front, else the first of that size."""
        if shape and shape[0] and shape[0] % self.batch == 0:
            return 0
        return shape.index(self.batch) if self.batch in shape else None

    def _of_constant(self, node: Node) -> Placement:
        """A constant with one slice for each row holds the batch if these slices are equal, to the bit."""
        dim = self.batch_dim(node.shape)
        if dim is None or node.shape[dim] != self.batch or not node.type.numel:
            return UNIFORM
        bits = np.ascontiguousarray(node.value).view(np.uint8).reshape(*node.shape, -1)
        is_same = bool((bits == bits.take([0], axis=dim)).all())
        return BatchAxis(int(np.prod(node.shape[:dim], dtype=np.int64)), is_same=True) if is_same else UNIFORM

    def _card(self, node: Node) -> RowTag:
        """What the op's card says where all operands are rows or uniform."""
        facts = RowFacts(
            tags=map_operands(node.operands, lambda operand: self._tags[operand]),
            types=map_operands(node.operands, lambda operand: operand.type),
            attributes=node.attributes,
            result=node.type,
            batch=self.batch,
        )
        return node.op.rows(facts)

    def _tag(self, node: Node, placement: Placement) -> RowTag:
        """How a row program sees the value; one with equal rows is uniform, unless views spread it."""
        if not isinstance(placement, BatchAxis):
            return placement
        if placement.is_same:
            tag = self._card(node) if node.is_op(*VIEW_OPS) else UNIFORM
            return tag if isinstance(tag, Rows) else UNIFORM
        spot = self._spots[node]
        return Rows(spot.inner) if spot is not None and spot.is_leading else MIXED
