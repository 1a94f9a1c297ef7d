"""Weights with columns of zeros behind their own, made once, at load."""

from __future__ import annotations

import numpy as np

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.types import DType, TensorType


def with_zero_columns(graph: Graph, weight: Node, columns: int, name: str, place: Node) -> Node:
    """The derived [N, K + columns] of a weight f32[N, K].

    Args:
        graph: in which it is made.
        weight: a weight or derived value.
        columns: how many.
        name: of the derived value.
        place: the node in front of which it stands.
    """
    body = Graph("body")
    own = body.input(weight.name, weight.type)
    zero = body.const("zero", np.zeros((1, 1), np.float32), TensorType(DType.F32, (1, 1)))
    zeros = body.add("expand", (zero,), {"shape": (weight.shape[0], columns)})
    body.set_outputs([body.add("cat", ((own, zeros),), {"dim": 1})])
    return graph.add("derive", ((weight,),), name=name, body=body, place=place)
