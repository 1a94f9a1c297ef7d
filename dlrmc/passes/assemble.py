"""A cat of values that have kernels of their own is made by these kernels, without a copy."""

from __future__ import annotations

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import many
from dlrmc.passes.pass_types import PassResult

# Ops whose kernels write their results with any strides, as row programs do.
_PRODUCERS = (
    "kernel",
    "item",
    "linear",
    "mm",
    "bmm",
    "embedding_bag",
    "embedding_bag_group",
    "quantized_embedding_bag",
    "quantized_embedding_bag_group",
    "pairwise_dot",
)


def run(graph: Graph) -> PassResult:
    """Turn every cat into `assemble` whose parts are all made by heavy ops and read by nothing else."""
    assembled = 0
    for node in graph.nodes:
        if node.is_op("cat") and all(_is_own_kernel(graph, part) for part in many(node.operands[0])):
            made = graph.add("assemble", node.operands, node.attributes, source=node.source, place=node)
            graph.replace(node, made)
            assembled += 1
    return PassResult.of({"assembled": assembled})


def _is_own_kernel(graph: Graph, part: Node) -> bool:
    """Whether a kernel makes the part, or a value of which the part is a view, for this reader only."""
    if part.is_op("view") and _makes_views(part.inputs[0]):
        return graph.use_count(part) == 1 and graph.use_count(part.inputs[0]) == 1
    return part.is_op(*_PRODUCERS) and graph.use_count(part) == 1


def _makes_views(node: Node) -> bool:
    """Whether form-kernels makes the view the result of the kernel."""
    return node.is_op(*_PRODUCERS) and not node.is_op("kernel", "item")
