"""Weights of a row program's layers whose rows would all begin in the same bank of shared memory.

A stage on tensor cores reads rows of w that lie 16 elements modulo 32 apart without bank conflicts. Where k
is a multiple of 32, the weights get 16 columns of zeros at load: the rows then stand in memory as they shall
stand in shared memory, and one bulk copy takes them there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import one
from dlrmc.ir.types import DType, TensorType

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
            padded[weight] = _padded(graph, weight, node)
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


def _padded(graph: Graph, weight: Node, place: Node) -> Node:
    body = Graph("body")
    own = body.input(weight.name, weight.type)
    kind = TensorType(DType.F32, (weight.shape[0], PADDING))
    zeros = body.const("zeros", np.zeros(kind.shape, np.float32), kind)
    body.set_outputs([body.add("cat", ((own, zeros),), {"dim": 1}, name=f"{weight.name}_padded")])
    return graph.add("derive", ((weight,),), name=f"{weight.name}_padded", body=body, place=place)
