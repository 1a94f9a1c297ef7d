"""Factors of TF32 products are rounded where they are written, not where they are read.

Tensor cores cut what they read from shared memory to TF32, and a kernel that rounds it there first takes half
as long again (docs/decisions/0013-large-products.md). Weights are rounded at load, by a `derive`, and again
after an update; the result of a `linear` kernel in its epilogue, and that of a row program as it is stored,
where nothing else reads it. Which products are computed so is known once kernels have been emitted. The
rounding stands in the IR as an op, so that a reader need not round what the IR shows to be rounded; whatever
it does not, the reader rounds itself.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Elementwise
from dlrmc.ir.strided import under_views
from dlrmc.ir.types import DType

ROUNDING = "round_tf32"
# Ops by which a row program stores a result itself: bags and copies move rows as they are.
_STORING_OPS = ("linear", "pairwise_dot", "bmm")


def is_rounded(value: Node) -> bool:
    """Whether a value of a graph of kernels is known to hold TF32 numbers only, but what is not finite."""
    written = _written(value)
    return written is not None and written.is_op(ROUNDING)


def _written(value: Node) -> Node | None:
    """What the kernel or derived value yields as this value, in its body; None for what no body yields."""
    if value.is_op("item"):
        return value.inputs[0].body.outputs[value.attributes.int("index")]
    return value.body.outputs[0] if value.has_body and len(value.body.outputs) == 1 else None


def round_factors(graph: Graph, factors: Mapping[Node, tuple[int, ...]]) -> bool:
    """Let the writers of factors of TF32 products round them, where nothing else reads these.

    Args:
        graph: of kernels.
        factors: for kernels, the places of operands that they read as factors of TF32 products only.

    Returns:
        Whether the graph was changed.
    """
    written = {node for node in graph.nodes if _rounds_result(graph, node, factors)}
    writers = {node.inputs[0] if node.is_op("item") else node for node in written}
    weights: dict[Node, Node] = {}
    for kernel in [node for node in graph.nodes if node in factors or node in writers]:
        operands = tuple(
            _at_load(graph, operand, weights) if place in factors.get(kernel, ()) else operand
            for place, operand in enumerate(kernel.inputs)
        )
        body = _with_rounded_results(kernel, graph, written) if kernel in writers else kernel.body
        if operands != kernel.inputs or body is not kernel.body:
            made = graph.add(kernel.op, (operands,), kernel.attributes, body=body, place=kernel)
            graph.replace(kernel, made)
    return bool(written or weights)


def _rounds_result(graph: Graph, value: Node, factors: Mapping[Node, tuple[int, ...]]) -> bool:
    """Whether the value is the result of a kernel that can round it, and only ever a factor."""
    result = _written(value)
    if result is None or result.is_op(ROUNDING) or not _can_round(value, result):
        return False
    if result.type.dtype is not DType.F32 or graph.returns(value):
        return False
    readers = graph.users(value)
    return bool(readers) and all(_is_only_factor(reader, value, factors) for reader in readers)


def _can_round(value: Node, result: Node) -> bool:
    """Whether the kernel of a value can round what it stores as that."""
    kernel = value.inputs[0] if value.is_op("item") else value
    if not kernel.is_op("kernel"):
        return False
    match kernel.attributes.str("impl"):
        case "linear":
            return True
        case "row_program":
            stored = under_views(result)
            is_alone = sum(output is result for output in kernel.body.outputs) == 1
            return is_alone and (stored.is_op(*_STORING_OPS) or isinstance(stored.op, Elementwise))
        case _:
            return False


def _is_only_factor(reader: Node, value: Node, factors: Mapping[Node, tuple[int, ...]]) -> bool:
    places = [place for place, operand in enumerate(reader.inputs) if operand is value]
    return all(place in factors.get(reader, ()) for place in places)


def _with_rounded_results(kernel: Node, graph: Graph, written: Container[Node]) -> Graph:
    """The body of a kernel with those results rounded that stand for the values."""
    items = [user for user in graph.users(kernel) if user.is_op("item") and user in written]
    places = {item.attributes.int("index") for item in items} if items else {0}
    rounded = kernel.body.copy()
    rounded.set_outputs(
        [
            rounded.add(ROUNDING, (output,)) if place in places else output
            for place, output in enumerate(rounded.outputs)
        ]
    )
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
