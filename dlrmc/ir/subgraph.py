"""Cut a region out of a graph and make it the body of one node."""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.errors import PassError
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import map_operands

# Larger constants are read from memory as operands; smaller ones stand in the body and so in the source.
INLINE_CONST_ELEMENTS = 4096


def outline(
    graph: Graph,
    region: Sequence[Node],
    outputs: Sequence[Node],
    inlined_elements: int = INLINE_CONST_ELEMENTS,
) -> tuple[Graph, tuple[Node, ...]]:
    """Copy a region into a body of its own; the graph itself is not changed.

    Args:
        graph: the graph that holds the region.
        region: the nodes to copy, none of them a leaf.
        outputs: the values that the body yields: nodes of the region, or values that it only passes on.
        inlined_elements: constants up to this size stand in the body; others are operands.

    Returns:
        The body, and for each of its inputs the value of `graph` that stands for it, in order of first use.
    """
    body = Graph("body")
    inside = set(region)
    twins: dict[Node, Node] = {}
    operands: list[Node] = []

    def enter(node: Node) -> Node:
        if node in twins:
            return twins[node]
        if node in inside:
            raise PassError(f"outlining %{node.name}", found="a region that is not in topological order")
        if node.is_op("const") and node.type.numel <= inlined_elements:
            twins[node] = body.const(node.name, node.value, node.type)
        else:
            operands.append(node)
            twins[node] = body.input(node.name, node.type)
        return twins[node]

    for node in graph.nodes:
        if node in inside:
            operands_inside = map_operands(node.operands, enter)
            twins[node] = body.add(
                node.op,
                operands_inside,
                node.attributes,
                name=node.name,
                source=node.source,
                body=node.inner,
            )
    body.set_outputs([enter(node) for node in outputs])
    return body, tuple(operands)
