"""The analysis behind row programs: how every value of a graph depends on the batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import RowFacts, map_operands
from dlrmc.ir.rows import MIXED, UNIFORM, RowTag, leading_rows


def tag_rows(graph: Graph, batch: int, uniform: frozenset[Node] = frozenset()) -> Mapping[Node, RowTag]:
    """A tag for every node, by one transfer rule an op card.

    Args:
        graph: a program, or the body of a kernel.
        batch: how many rows there are.
        uniform: inputs that stand for weights and constants.

    Whether a dimension of an input *is* the batch does not matter here: calling its leading dimension rows is
    only a choice of how to cut it, and the rules keep the choice honest.
    """
    tags: dict[Node, RowTag] = {}
    for node in graph.nodes:
        tags[node] = UNIFORM if node in uniform else _tag(node, tags, batch)
    return tags


def _tag(node: Node, tags: Mapping[Node, RowTag], batch: int) -> RowTag:
    if node.is_op("weight", "const", "derive"):
        return UNIFORM
    if node.is_op("input"):
        return leading_rows(node.shape, batch)
    if node.has_body or node.is_op("item"):
        return MIXED
    facts = RowFacts(
        tags=map_operands(node.operands, lambda operand: tags[operand]),
        types=map_operands(node.operands, lambda operand: operand.type),
        attributes=node.attributes,
        result=node.type,
        batch=batch,
    )
    return node.op.rows(facts)


def guess_batch(graph: Graph) -> int:
    """The batch size to cut rows by: the most frequent leading dimension of what the graph computes.

    Returns 0 where nothing is computed; a tie goes to the larger size.
    """
    sizes = Counter(
        node.shape[0]
        for node in graph.nodes
        if not node.is_op("input", "weight", "const", "derive", "kernel") and node.shape and node.shape[0]
    )
    return max(sizes, key=lambda size: (sizes[size], size), default=0)
