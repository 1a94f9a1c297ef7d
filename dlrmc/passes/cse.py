"""Common subexpressions: equal ops of equal operands are computed once."""

from __future__ import annotations

from collections.abc import Hashable

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import map_operands
from dlrmc.ir.printer import print_node
from dlrmc.passes.pass_types import PassResult


def run(graph: Graph) -> PassResult:
    """Let equal values be one: consts by value, weights by target, ops by card, operands and attributes.

    The first of them in topological order stays.
    """
    kept: dict[Hashable, Node] = {}
    merged = 0
    for node in graph.nodes:
        first = node if node.is_op("input") else kept.setdefault(_key(node), node)
        if first is not node:
            graph.replace(node, first, keep_name=False)
            merged += 1
    return PassResult.of({"merged": merged})


def _key(node: Node) -> Hashable:
    match node.op.name:
        case "const":
            return ("const", str(node.type), node.value.tobytes())
        case "weight":
            return ("weight", str(node.type), node.target)
        case _:
            # The repr tells -0.0 from 0.0, which are equal but do not mean the same to every op.
            operands = map_operands(node.operands, id)
            body = print_node(node).partition("{")[2] if node.has_body else ""
            return (node.op.name, operands, repr(node.attributes), body)
