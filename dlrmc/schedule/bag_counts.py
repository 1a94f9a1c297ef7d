"""Inputs whose number of elements may come with the call: ids of bags with offsets, and weights of ids."""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.ir.bag_tables import BAG_OPS, bags_of
from dlrmc.ir.graph import Graph, Node

# The kernels that read the number of ids from behind the pointer.
COUNTING_IMPLS = ("embedding_bag", "quantized_bag", "row_program")


def read_by_bags_alone(graph: Graph, inputs: Sequence[Node]) -> bool:
    """Whether kernels read these inputs as ids or weights of bags with offsets, and in no other way."""
    return all(_is_of_bags(graph, node) for node in inputs)


def _is_of_bags(graph: Graph, node: Node) -> bool:
    users = graph.users(node)
    if node in graph.outputs or not all(user.is_op("kernel") for user in users):
        return False
    for kernel in users:
        inner = [own for own, given in kernel.outer.items() if given is node]
        is_counting = kernel.attributes.str("impl") in COUNTING_IMPLS
        if not is_counting or not all(_is_of_bags_in(kernel.body, each) for each in inner):
            return False
    return True


def _is_of_bags_in(body: Graph, node: Node) -> bool:
    return node not in body.outputs and all(_reads_by_offsets(user, node) for user in body.users(node))


def _reads_by_offsets(user: Node, node: Node) -> bool:
    """Whether an op reads a node as ids or weights, with offsets, and in no other place."""
    if not user.is_op(*BAG_OPS):
        return False
    tables = bags_of(user)
    is_misread = any(node is bags.table or node is bags.offsets for bags in tables)
    reads = [bags.offsets for bags in tables if node is bags.ids or node is bags.weights]
    return not is_misread and all(offsets is not None for offsets in reads)
