"""Making nodes in place of another one."""

from __future__ import annotations

from dlrmc.ir.attributes import Attribute
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Array, Operand


class NodeBuilder:
    """Makes nodes that stand where `root` stands in the order of the graph and carry its source line."""

    def __init__(self, graph: Graph, root: Node) -> None:
        self._graph = graph
        self._root = root
        self._created: list[Node] = []

    @property
    def created(self) -> tuple[Node, ...]:
        """The nodes made so far."""
        return tuple(self._created)

    def op(self, name: str, *operands: Operand[Node], **attributes: Attribute) -> Node:
        """A node of any op.

        Raises:
            TypeRuleError: the operands or attributes do not fit the card.
        """
        return self._keep(
            self._graph.add(name, operands, attributes, source=self._root.source, place=self._root)
        )

    def const(self, value: Array) -> Node:
        """A constant, named after the root."""
        return self._keep(self._graph.const(f"{self._root.name}_value", value, place=self._root))

    def _keep(self, node: Node) -> Node:
        self._created.append(node)
        return node
