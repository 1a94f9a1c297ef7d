"""NumPy over the IR: what a graph means, and the oracle of every test."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dlrmc.errors import InputError
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Array, map_operands
from dlrmc.ir.types import TensorType


def evaluate(graph: Graph, inputs: Mapping[str, Array], weights: Mapping[str, Array]) -> tuple[Array, ...]:
    """The values of the graph's outputs.

    Args:
        graph: any stage of a program, kernels included: a kernel means its body.
        inputs: an array for each input by name; those of unused inputs may be left out.
        weights: an array for each weight by target.

    Raises:
        InputError: an array is missing, or its dtype or shape is not the declared one.
        BoundsError: an id or offset is out of range.
    """
    values = evaluate_all(graph, inputs, weights)
    return tuple(values[output.name] for output in graph.outputs)


def evaluate_all(graph: Graph, inputs: Mapping[str, Array], weights: Mapping[str, Array]) -> dict[str, Array]:
    """The values of all nodes by name; results of a kernel with several are left to its `item` nodes."""
    single: dict[Node, Array] = {}
    several: dict[Node, tuple[Array, ...]] = {}
    for node in graph.nodes:
        if node.is_op("input") and node.name not in inputs and not graph.use_count(node):
            continue
        if node.has_body:
            results = _run_body(node, single)
            several[node] = results
            if len(results) == 1:
                single[node] = results[0]
            continue
        single[node] = _value(node, single, several, inputs, weights)
    return {node.name: value for node, value in single.items()}


def _value(
    node: Node,
    single: Mapping[Node, Array],
    several: Mapping[Node, tuple[Array, ...]],
    inputs: Mapping[str, Array],
    weights: Mapping[str, Array],
) -> Array:
    match node.op.name:
        case "input":
            return _bound(f"input %{node.name}", inputs.get(node.name), node.type)
        case "weight":
            return _bound(f'weight "{node.target}"', weights.get(node.target), node.type)
        case "const":
            return node.value
        case "item":
            return several[node.inputs[0]][node.attributes.int("index")]
        case _:
            operands = map_operands(node.operands, lambda operand: single[operand])
            # The results of inf - inf and the like are part of the meaning, not mistakes.
            with np.errstate(all="ignore"):
                return node.op.reference(operands, node.attributes)


def _run_body(node: Node, single: Mapping[Node, Array]) -> tuple[Array, ...]:
    return evaluate(node.body, {inner.name: single[outer] for inner, outer in node.outer.items()}, {})


def _bound(place: str, array: Array | None, kept: TensorType) -> Array:
    if array is None:
        raise InputError(place, found="no array", expected=str(kept))
    if array.dtype != kept.dtype.numpy or array.shape != kept.shape:
        raise InputError(place, found=f"{array.dtype}{list(array.shape)}", expected=str(kept))
    return array
