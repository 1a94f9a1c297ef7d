"""What a row program knows of TF32: results that it rounds, and operands that it reads as factors only.

A result that only TF32 products read is rounded by the stores that write it, whatever stage they belong to:
they go through a pointer to `tf32` (rounded_results.cuh).
"""

from __future__ import annotations

from dlrmc.codegen.rows.layout import anchor_of
from dlrmc.codegen.rows.operand_tiles import pairs_on_tensor_cores
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import many
from dlrmc.ir.strided import VIEW_OPS, views_on
from dlrmc.passes.round_factors import ROUNDING
from dlrmc.schedule.row_tiles import Tile

ROUNDED_TYPE = "tf32"
ROUNDED_INCLUDE = "rounded_results.cuh"


def take_roundings(graph: Graph) -> tuple[bool, ...]:
    """Let a tile yield what it has rounded before, and say which of its results are to be rounded."""
    outputs = graph.outputs
    is_rounded = tuple(output.is_op(ROUNDING) for output in outputs)
    graph.set_outputs([output.inputs[0] if output.is_op(ROUNDING) else output for output in outputs])
    for output in dict.fromkeys(outputs):
        if output.is_op(ROUNDING) and not graph.use_count(output):
            graph.erase(output)
    return is_rounded


def tf32_factors(tile: Tile, precision: str) -> tuple[int, ...]:
    """The places of operands that only dot products of pairs on tensor cores read, which round them to TF32.

    Args:
        tile: after form-kernels.
        precision: of products on tensor cores.
    """
    if precision != "tf32":
        return ()
    twins: dict[int, list[Node]] = {}
    for twin, operand in tile.operands.items():
        twins.setdefault(operand.operand, []).append(twin)
    return tuple(
        sorted(place for place, nodes in twins.items() if all(_is_factor(tile.graph, node) for node in nodes))
    )


def _is_factor(graph: Graph, value: Node) -> bool:
    readers = graph.users(value)
    if not readers or graph.returns(value):
        return False
    return all(reader.is_op("kernel") and _reads_as_factor(reader, value) for reader in readers)


def _reads_as_factor(stage: Node, value: Node) -> bool:
    anchor = anchor_of(stage)
    if not anchor.is_op("pairwise_dot") or not pairs_on_tensor_cores(anchor):
        return False
    features = many(anchor.operands[0])
    inner = [node for node, outer in stage.outer.items() if outer is value]
    shown = [node for node in stage.body.nodes if node in inner or _shows(node, inner)]
    return all(node in features or node.is_op("input", *VIEW_OPS) for node in shown)


def _shows(node: Node, values: list[Node]) -> bool:
    return any(view.inputs[0] in values for view in views_on(node))
