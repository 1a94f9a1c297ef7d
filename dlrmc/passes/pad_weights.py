"""Weights of a row program's layers whose rows would all begin in the same bank of shared memory.

A stage on tensor cores reads rows of w that lie 16 elements modulo 32 apart without bank conflicts. Where k
is a multiple of 32, the weights get 16 columns of zeros at load: the rows then stand in memory as they shall
stand in shared memory, and one bulk copy takes them there.
"""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import one
from dlrmc.ir.types import DType
from dlrmc.passes.zero_columns import with_zero_columns

BANKS = 32
PADDING = 16
# Narrower or flatter layers are not computed on tensor cores.
SMALLEST = 16, 64


def pad_weights(
    graph: Graph, region: Sequence[Node], outputs: Sequence[Node]
) -> tuple[list[Node], list[Node]]:
    """The region with a slice of padded weights in front of each layer that wants them, and its outputs.

    Args:
        graph: in which the `derive` nodes are made and the layers replaced.
        region: nodes of a row program to be, in order.
        outputs: those of them that it yields.
    """
    padded: dict[Node, Node] = {}
    result: list[Node] = []
    layers: dict[Node, Node] = {}
    for node in region:
        if not node.is_op("linear") or not _wants_padding(one(node.operands[1])):
            result.append(node)
            continue
        weight = one(node.operands[1])
        if weight not in padded:
            padded[weight] = with_zero_columns(graph, weight, PADDING, f"{weight.name}_padded", node)
        attributes = {"dim": 1, "start": 0, "stop": weight.shape[1]}
        rows = graph.add("slice", (padded[weight],), attributes, name=f"{weight.name}_rows", place=node)
        operands = (node.operands[0], rows, node.operands[2])
        layer = graph.add(node.op, operands, node.attributes, name=node.name, source=node.source, place=node)
        graph.replace(node, layer)
        layers[node] = layer
        result += [rows, layer]
    return result, [layers.get(output, output) for output in outputs]


def _wants_padding(weight: Node) -> bool:
    is_resident = weight.is_op("weight", "derive") and weight.type.rank == 2
    if not is_resident or weight.type.dtype is not DType.F32:
        return False
    n, k = weight.shape
    return n >= SMALLEST[0] and k >= SMALLEST[1] and k % BANKS == 0
