"""The analysis behind row programs: how every value of a graph depends on the batch."""

from __future__ import annotations

from collections.abc import Mapping

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import RowFacts, map_operands
from dlrmc.ir.rows import MIXED, UNIFORM, RowTag, leading_rows
from dlrmc.ir.types import TensorType

# Stages copy their weights, biases and tables before anything is computed.
_WEIGHT_READERS = (
    "linear",
    "mm",
    "addmm",
    "layer_norm",
    "embedding",
    "embedding_bag",
    "embedding_bag_group",
    "quantized_embedding_bag",
)


def tag_rows(
    graph: Graph, batch: int, uniform: frozenset[Node] = frozenset(), *, restarts: bool = False
) -> Mapping[Node, RowTag]:
    """A tag for every node, by one transfer rule an op card.

    Args:
        graph: a program, or the body of a kernel.
        batch: how many rows there are.
        uniform: inputs that stand for weights and constants.
        restarts: whether readers see a mixed value as if it came from outside: rows, if its size allows. It
            has a buffer by then, of which a tile can read its part. Without, all that depends on it is mixed.

    A batch of 1 is one row, which nothing mixes with another: an op is then mixed only where it reads as its
    weight what is computed.

    Whether a dimension of an input *is* the batch does not matter here: calling its leading dimension rows is
    only a choice of how to cut it, and the rules keep the choice honest.
    """
    tags: dict[Node, RowTag] = {}
    read: dict[Node, RowTag] = {}
    for node in graph.nodes:
        tags[node] = UNIFORM if node in uniform else _tag(node, read, batch)
        read[node] = _read(node, tags[node], batch) if restarts else tags[node]
    return tags


def _read(node: Node, tag: RowTag, batch: int) -> RowTag:
    """How readers see a value that has a buffer of its own if it is mixed."""
    is_tensor = isinstance(node.result_type, TensorType)
    return leading_rows(node.shape, batch) if tag is MIXED and is_tensor else tag


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
    tag = node.op.rows(facts)
    is_one_row = tag is MIXED and batch == 1 and not node.is_op(*_WEIGHT_READERS)
    return leading_rows(node.shape, batch) if is_one_row else tag
