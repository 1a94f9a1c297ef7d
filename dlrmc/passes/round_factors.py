"""Factors of TF32 products are rounded where they are written, not where they are read.

Tensor cores cut what they read from shared memory to TF32, and a kernel that rounds it there first takes half
as long again (docs/decisions/0013-large-products.md). Weights are rounded at load, by a `derive`, and again
after an update; the result of a `linear` kernel in its epilogue, where nothing else reads it. Which products
are computed so is known once kernels have been emitted. The rounding stands in the IR as an op, so that a
reader need not round what the IR shows to be rounded; whatever it does not, the reader rounds itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.types import DType, TensorType

ROUNDING = "round_tf32"
# Kernels whose epilogue can round.
_ROUNDING_WRITERS = ("linear",)


def is_rounded(value: Node) -> bool:
    """Whether a value of a graph of kernels is known to hold TF32 numbers only, but what is not finite."""
    return value.has_body and len(value.body.outputs) == 1 and value.body.outputs[0].is_op(ROUNDING)


def round_factors(graph: Graph, factors: Mapping[Node, tuple[int, ...]]) -> bool:
    """Let the writers of factors of TF32 products round them, where nothing else reads these.

    Args:
        graph: of kernels.
        factors: for kernels, the places of operands that they read as factors of TF32 products only.

    Returns:
        Whether the graph was changed.
    """
    written = [node for node in graph.nodes if _rounds_result(graph, node, factors)]
    weights: dict[Node, Node] = {}
    for kernel in [node for node in graph.nodes if node in factors or node in written]:
        operands = tuple(
            _at_load(graph, operand, weights) if place in factors.get(kernel, ()) else operand
            for place, operand in enumerate(kernel.inputs)
        )
        body = _with_rounded_result(kernel.body) if kernel in written else kernel.body
        if operands != kernel.inputs or body is not kernel.body:
            made = graph.add(kernel.op, (operands,), kernel.attributes, body=body, place=kernel)
            graph.replace(kernel, made)
    return bool(written or weights)


def _rounds_result(graph: Graph, value: Node, factors: Mapping[Node, tuple[int, ...]]) -> bool:
    """Whether the value is the result of a kernel that can round it, and only ever a factor."""
    if not value.is_op("kernel") or value.attributes.str("impl") not in _ROUNDING_WRITERS:
        return False
    if is_rounded(value):
        return False
    is_f32 = isinstance(value.result_type, TensorType) and value.type.dtype is DType.F32
    if not is_f32 or any(output is value for output in graph.outputs):
        return False
    readers = graph.users(value)
    return bool(readers) and all(_is_only_factor(reader, value, factors) for reader in readers)


def _is_only_factor(reader: Node, value: Node, factors: Mapping[Node, tuple[int, ...]]) -> bool:
    places = [place for place, operand in enumerate(reader.inputs) if operand is value]
    return all(place in factors.get(reader, ()) for place in places)


def _with_rounded_result(body: Graph) -> Graph:
    rounded = body.copy()
    (output,) = rounded.outputs
    rounded.set_outputs([rounded.add(ROUNDING, (output,))])
    return rounded


def _at_load(graph: Graph, value: Node, known: dict[Node, Node]) -> Node:
    """The rounded copy of a weight or derived value, made once; another value stays what it is."""
    if not value.is_op("weight", "derive") or is_rounded(value) or value.type.dtype is not DType.F32:
        return value
    if value not in known:
        body = Graph("body")
        body.set_outputs([body.add(ROUNDING, (body.input(value.name, value.type),))])
        known[value] = graph.add("derive", ((value,),), name=f"{value.name}_tf32", body=body, place=value)
    return known[value]
