"""The tables of any op that reduces bags, one by one."""

from __future__ import annotations

from dataclasses import dataclass

from dlrmc.ir.node import Node
from dlrmc.ir.op import one, optional
from dlrmc.ir.ops.bags import BagOptions, group_options
from dlrmc.ir.ops.embedding import bag_options, group_operands

# Operands table, ids, offsets, weights; of a group, lists of them.
SINGLE_BAG_OPS = ("embedding_bag", "quantized_embedding_bag")
BAG_GROUP_OPS = ("embedding_bag_group", "quantized_embedding_bag_group")
BAG_OPS = (*SINGLE_BAG_OPS, *BAG_GROUP_OPS)


@dataclass(frozen=True, slots=True)
class Bags:
    """One table, its ids, offsets and weights, and its options."""

    table: Node
    ids: Node
    offsets: Node | None
    weights: Node | None
    options: BagOptions


def bags_of(node: Node) -> tuple[Bags, ...]:
    """The tables of one of BAG_OPS, in the order of the result."""
    if node.is_op(*SINGLE_BAG_OPS):
        operands = one(node.operands[0]), one(node.operands[1])
        return (Bags(*operands, optional(node.operands[2]), optional(node.operands[3]), _options(node)),)
    tables, ids, offsets, weights = group_operands(node.operands)
    if node.is_op("embedding_bag_group"):
        options = group_options(node.attributes, len(tables))
    else:
        ends = node.attributes.bools("include_last_offset") or (False,) * len(tables)
        options = tuple(BagOptions(include_last_offset=is_last) for is_last in ends)
    return tuple(Bags(*each) for each in zip(tables, ids, offsets, weights, options, strict=True))


def _options(node: Node) -> BagOptions:
    if node.is_op("embedding_bag"):
        return bag_options(node.attributes)
    return BagOptions(include_last_offset=node.attributes.bool("include_last_offset"))
