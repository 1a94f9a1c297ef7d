"""Constant folding: what depends on constants only is computed now, by the reference."""

from __future__ import annotations

import numpy as np

from dlrmc.errors import DlrmcError
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Array, map_operands
from dlrmc.passes.pass_types import PassResult

# A larger result stays an op: the text and the source of a program are no place for megabytes.
SIZE_BYTES_MAX = 1 << 20


def run(graph: Graph) -> PassResult:
    """Replace by a const every value made of consts only that something else reads.

    An `expand` is left alone, since its readers broadcast by themselves; its operand is folded. An op whose
    reference refuses its operands stays, and fails where it is run.
    """
    values = _values(graph)
    folded = 0
    for node in graph.nodes:
        if node.is_op("const") or node not in values or not _is_needed(graph, node, values):
            continue
        graph.replace(node, graph.const(node.name, values[node], node.type, place=node))
        folded += 1
    return PassResult.of({"folded": folded})


def _values(graph: Graph) -> dict[Node, Array]:
    values: dict[Node, Array] = {}
    for node in graph.nodes:
        if node.is_op("const"):
            values[node] = node.value
        elif _is_foldable(node, values):
            try:
                with np.errstate(all="ignore"):
                    operands = map_operands(node.operands, lambda operand: values[operand])
                    values[node] = node.op.reference(operands, node.attributes)
            except DlrmcError:
                continue
    return values


def _is_foldable(node: Node, values: dict[Node, Array]) -> bool:
    if not node.inputs or node.has_body or node.is_op("item"):
        return False
    return node.type.size_bytes <= SIZE_BYTES_MAX and all(operand in values for operand in node.inputs)


def _is_needed(graph: Graph, node: Node, values: dict[Node, Array]) -> bool:
    """Whether an output or an op that is not folded reads the value."""
    if node.is_op("expand") and node.type.numel > node.inputs[0].type.numel:
        return False
    if graph.returns(node):
        return True
    return any(user not in values or user.is_op("expand") for user in graph.users(node))
