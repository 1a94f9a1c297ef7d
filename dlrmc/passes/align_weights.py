"""align-weights: rows of the weights of large products start at addresses that 16-byte copies can take.

A row of 479 floats would be copied one float at a time. The padded copy is made once, at load.
"""

from __future__ import annotations

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import one
from dlrmc.ir.types import DType
from dlrmc.passes.pass_types import PassResult
from dlrmc.passes.zero_columns import with_zero_columns

# Rows become whole sectors, what L2 moves at once. Smaller weights are not worth a second copy.
SECTOR_BYTES = 32
COPY_BYTES = 16
LEAST_WEIGHT_BYTES = 64 * 1024


def run(graph: Graph) -> PassResult:
    """Let every linear outside of row programs read the weights through a view of padded ones."""
    padded: dict[Node, Node] = {}
    for node in graph.nodes:
        if not node.is_op("linear"):
            continue
        weight = one(node.operands[1])
        if weight not in padded and _is_worth_it(weight):
            padded[weight] = _pad(graph, weight, node)
        if weight in padded:
            operands = (node.operands[0], padded[weight], node.operands[2])
            graph.replace(node, graph.add(node.op, operands, node.attributes, place=node))
    return PassResult.of({"aligned": len(padded)})


def _is_worth_it(weight: Node) -> bool:
    is_f32 = weight.is_op("weight", "derive") and weight.type.dtype is DType.F32
    is_odd = weight.shape[1] * weight.type.dtype.size_bytes % COPY_BYTES != 0
    return is_f32 and is_odd and weight.type.size_bytes >= LEAST_WEIGHT_BYTES


def _pad(graph: Graph, weight: Node, place: Node) -> Node:
    """The view [N, K] of a derived [N, K'] whose columns from K on are zero."""
    columns = weight.shape[1]
    period = SECTOR_BYTES // weight.type.dtype.size_bytes
    wanted = -(-columns // period) * period
    derived = with_zero_columns(graph, weight, wanted - columns, f"{weight.name}_aligned", place)
    return graph.add("slice", (derived,), {"dim": 1, "start": 0, "stop": columns}, place=place)
