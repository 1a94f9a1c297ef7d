"""Lists of more values than a kernel takes pointers become lists of cats."""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import many
from dlrmc.passes.builder import Builder
from dlrmc.passes.pass_types import PassResult

# The values behind a list of so many, and what computes them, leave room among 512 pointers.
LARGEST_LIST = 128


def run(graph: Graph) -> PassResult:
    """Cut the lists of cat, linear and pairwise_dot; a part is made behind the last value that it takes."""
    order = {node: position for position, node in enumerate(graph.nodes)}
    cut = 0
    for node in graph.nodes:
        items = many(node.operands[0]) if node.is_op("cat", "linear", "pairwise_dot") else ()
        if len(items) > LARGEST_LIST:
            chunks = [items[at : at + LARGEST_LIST] for at in range(0, len(items), LARGEST_LIST)]
            parts = [_part(graph, node, chunk, max(chunk, key=order.__getitem__)) for chunk in chunks]
            new = Builder(graph, node).op(node.op.name, tuple(parts), *node.operands[1:], **node.attributes)
            graph.replace(node, new)
            cut += 1
    return PassResult.of({"lists": cut})


def _part(graph: Graph, reader: Node, items: Sequence[Node], last: Node) -> Node:
    """The items side by side, as the reader reads its list."""
    if len(items) == 1:
        return items[0]
    if reader.is_op("pairwise_dot"):
        items = [_as_features(graph, item, last) for item in items]
    return graph.add("cat", (tuple(items),), {"dim": _dim(reader)}, source=last.source, place=last)


def _dim(reader: Node) -> int:
    """The dimension of its items along which the reader reads them side by side."""
    if reader.is_op("cat"):
        return reader.attributes.int("dim")
    return 1 if reader.is_op("pairwise_dot") else reader.type.rank - 1


def _as_features(graph: Graph, item: Node, last: Node) -> Node:
    if item.type.rank == 3:
        return item
    return graph.add("view", (item,), {"shape": (item.shape[0], 1, item.shape[1])}, place=last)
