"""Making values with the batch in front, out of those that a graph has."""

from __future__ import annotations

from collections.abc import Callable

from dlrmc.ir.attributes import Attribute
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Operand, flatten
from dlrmc.passes.batch_axis import Shape
from dlrmc.passes.batch_layout import Layout
from dlrmc.passes.builder import Builder

# Makes the value of an op with the batch in front, from such operands.
Rebuild = Callable[["Front", Node], Node]


class Front:
    """The values of one graph with the batch in front, each made once."""

    def __init__(self, graph: Graph, layout: Layout, rebuilds: Callable[[Node], Rebuild | None]) -> None:
        self.layout = layout
        self._graph = graph
        self._rebuilds = rebuilds
        self._values: dict[Node, Node] = {}

    def rebuild(self, node: Node) -> None:
        """Compute the node anew, from operands that have the batch in front."""
        rebuild = self._rebuilds(node)
        assert rebuild is not None, f"%{node.name} was placed by no rule"
        self._values[node] = rebuild(self, node)

    def value(self, node: Node) -> Node:
        """A placed value with the batch in front; size 1 there if its rows are equal."""
        if node not in self._values:
            if not self.layout.is_same(node):
                self._values[node] = self._moved(node)
            elif node.is_op("const"):
                self._values[node] = self._first_row(node)
            else:
                self.rebuild(node)
        return self._values[node]

    def wide(self, node: Node) -> Node:
        """The same, with every row written out where rows are equal."""
        value = self.value(node)
        return self.expand(node, value, (self.layout.batch, *value.shape[1:]))

    def alike(self, nodes: Operand[Node]) -> tuple[Node, ...]:
        """The values in front, all with one row if that stands for all rows of each, else all wide."""
        present = flatten((nodes,))
        is_same = all(self.layout.is_same(node) for node in present)
        return tuple(self.value(node) if is_same else self.wide(node) for node in present)

    def restored(self, node: Node) -> Node:
        """The value as it was, from the one with the batch in front."""
        before, rows, after = self.layout.box(node)
        if before == 1:
            return self.view(node, self.value(node), node.shape)
        box = self.view(node, self.value(node), (rows, before, after))
        return self.view(node, self._builder(node).permute(box, (1, 0, 2)), node.shape)

    # -- nodes that stand where the old one stands ---------------------------------------------------------

    def op(self, node: Node, *operands: Operand[Node], **changed: Attribute) -> Node:
        """The node's op on other operands and with some attributes changed."""
        attributes = {**node.attributes, **changed}
        name = f"{node.name}_bf"
        return self._graph.add(node.op, operands, attributes, name=name, source=node.source, place=node)

    def view(self, node: Node, x: Node, shape: Shape) -> Node:
        """`x` in another shape."""
        return self._builder(node).view_if_needed(x, shape)

    def permute(self, node: Node, x: Node, perm: tuple[int, ...]) -> Node:
        """`x` with its dimensions in another order."""
        return x if perm == tuple(range(len(perm))) else self._builder(node).permute(x, perm)

    def expand(self, node: Node, x: Node, shape: Shape) -> Node:
        """`x` repeated to a shape."""
        return x if x.shape == shape else self._builder(node).expand(x, shape)

    def _builder(self, node: Node) -> Builder:
        return Builder(self._graph, node)

    def _moved(self, node: Node) -> Node:
        """A view of the value as it is, which copies nothing where the batch is in front already."""
        before, rows, after = self.layout.box(node)
        shape = self.layout.shape_in_front(node)
        if before == 1:
            return self.view(node, node, shape)
        box = self.view(node, node, (before, rows, after))
        return self.view(node, self._builder(node).permute(box, (1, 0, 2)), shape)

    def _first_row(self, node: Node) -> Node:
        """The one slice that a constant repeats."""
        before, rows, after = self.layout.box(node)
        value = node.value.reshape(before, rows, after)[:, 0].reshape(self.layout.shape_in_front(node))
        return self._graph.const(node.name, value, node.type.with_shape(value.shape), place=node)
