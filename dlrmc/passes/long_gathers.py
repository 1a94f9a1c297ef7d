"""Bags that read so much that they are better off in a kernel of their own than in a row program."""

from __future__ import annotations

from dlrmc.ir.bag_tables import BAG_OPS, bags_of
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.strided import under_views

# A kernel of its own has four times the rows of tables on their way that a row program has, which holds a
# multiprocessor by its shared memory. It pays for bags that read so many bytes, and several rows a bag: what
# it takes besides is another launch, and to write and read the bags.
LONG_GATHER_BYTES = 8 << 20
LONG_GATHER_ROWS = 4


def without_long_gathers(graph: Graph, members: frozenset[Node]) -> frozenset[Node]:
    """The members but such bags, and the cats that would only copy them.

    Such a cat is left to `assemble`: its parts are written where it wants them.

    Args:
        graph: that the members are of.
        members: the ops that row programs may hold.
    """
    gathers = frozenset(node for node in members if node.is_op(*BAG_OPS) and is_long_gather(node))
    if not gathers:
        return members
    kept = members - gathers
    cats = [
        node
        for node in kept
        if node.is_op("cat") and any(under_views(part) in gathers for part in node.inputs)
    ]
    return kept.difference(cat for cat in cats if not any(user in kept for user in graph.users(cat)))


def is_long_gather(node: Node) -> bool:
    """Whether an op of bags reads that much more than it gives."""
    row_bytes = [bags.table.shape[1] * bags.table.type.dtype.size_bytes for bags in bags_of(node)]
    read_bytes = sum(bags.ids.type.numel * row for bags, row in zip(bags_of(node), row_bytes, strict=True))
    return read_bytes >= max(LONG_GATHER_BYTES, LONG_GATHER_ROWS * node.type.size_bytes)
