"""Rows of embedding tables, and their sums, means and maxima over bags of ids.

The references refuse ids and offsets out of range. Kernels are memory-safe: the first fault is recorded for
the caller, an id out of range reads nothing (a row of zeros for `embedding`; in a bag it is skipped as a
padding id is), and an offset is clamped to 0 and the number of ids, a bag that ends before it begins being
empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import numpy as np

from dlrmc.ir.attributes import Attribute, Attributes
from dlrmc.ir.op import (
    Arity,
    Array,
    AttributeSpec,
    Op,
    Operands,
    OperandSpec,
    RowFacts,
    many,
    many_optional,
    one,
    optional,
)
from dlrmc.ir.ops.bags import MODES, BagNames, BagOptions, group_options, infer_bags, reduce_bags
from dlrmc.ir.ops.rules import check_bounds, require_index, require_rank
from dlrmc.ir.rows import MIXED, UNIFORM, RowTag, leading_rows, rows_or_mixed
from dlrmc.ir.types import TensorType

T = TypeVar("T")


def jagged_rows(tables: Sequence[RowTag], facts: RowFacts) -> RowTag:
    """The tag of bags whose ids are found through offsets, or which are grouped with such bags.

    The ids of a row stand anywhere in their tensor, so a fused kernel must have ids and offsets as operands;
    their own tags do not matter.
    """
    is_uniform = all(tag is UNIFORM for tag in tables)
    return leading_rows(facts.result.shape, facts.batch) if is_uniform else MIXED


class Embedding(Op):
    """The rows ids[...] of table[R, D], giving [..., D] (aten.embedding); 0 <= id < R.

    A padding_idx does not mask in forward.
    """

    name = "embedding"
    aten = ("aten.embedding.default",)
    operands = (OperandSpec("table"), OperandSpec("ids"))

    def rows(self, facts: RowFacts) -> RowTag:
        return rows_or_mixed([one(facts.tags[1])], uniform=[one(facts.tags[0])])

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        table, ids = one(operands[0]), one(operands[1])
        require_rank(self, "table", table, 2)
        require_index(self, "ids", ids)
        return table.with_shape((*ids.shape, table.shape[1]))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        table, ids = one(operands[0]), one(operands[1])
        check_bounds(self.name, "ids", ids, 0, len(table))
        return table[ids]


class EmbeddingBag(Op):
    """The sum, mean or max of rows of table[R, D] in each of B bags of ids, giving [B, D].

    This is aten.embedding_bag, as the CPU computes it.

    With offsets[B], or [B + 1] with include_last_offset, ids is 1-D and bag b is ids[offsets[b]:offsets[b +
    1]]; without include_last_offset the last bag ends with the ids, with it ids after the last bag are not
    read. Without offsets, ids is [B, L] and each row is a bag. weights, of the shape of ids, scale the
    rows of a sum. offsets[0] is 0, offsets do not decrease and none is above the number of ids.

    An empty bag gives zeros in every mode. padding_idx (-1 for none) is skipped and not counted in the
    mean. max takes the first row and then each that is greater, so that a NaN stays only where it came
    first. Sums are sequential in float32, with a fused multiply-add where there are weights; the mean
    divides by the count, and the result is rounded to the table's dtype.
    """

    name = "embedding_bag"
    aten = (
        "aten.embedding_bag.padding_idx",
        "aten._embedding_bag.default",
        "aten._embedding_bag_forward_only.default",
    )
    operands = (
        OperandSpec("table"),
        OperandSpec("ids"),
        OperandSpec("offsets", Arity.OPTIONAL),
        OperandSpec("weights", Arity.OPTIONAL),
    )
    attributes = (
        AttributeSpec("mode", "str", "sum", MODES),
        AttributeSpec("include_last_offset", "bool", False),
        AttributeSpec("padding_idx", "int", -1),
    )

    def rows(self, facts: RowFacts) -> RowTag:
        if optional(facts.tags[2]) is None:
            return rows_or_mixed([one(facts.tags[1])], uniform=[one(facts.tags[0])])
        return jagged_rows([one(facts.tags[0])], facts)

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        table, ids, offsets, weights = (
            one(operands[0]),
            one(operands[1]),
            optional(operands[2]),
            optional(operands[3]),
        )
        return infer_bags(self, table, ids, offsets, weights, bag_options(attributes))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        table, ids, offsets, weights = (
            one(operands[0]),
            one(operands[1]),
            optional(operands[2]),
            optional(operands[3]),
        )
        return reduce_bags(table, ids, offsets, weights, bag_options(attributes), BagNames(self.name))


class EmbeddingBagGroup(Op):
    """T embedding bags of equal D, dtype and B, stacked: [B, T, D] (one aten.embedding_bag for each table).

    Tables differ in rows, ids in length, bags in options. offsets and weights hold T items, absent ones
    included, or none at all. modes, include_last_offset and padding_idx hold T values, or none where all
    are the default.
    """

    name = "embedding_bag_group"
    operands = (
        OperandSpec("tables", Arity.MANY),
        OperandSpec("ids", Arity.MANY),
        OperandSpec("offsets", Arity.MANY),
        OperandSpec("weights", Arity.MANY),
    )
    attributes = (
        AttributeSpec("modes", "strs", ()),
        AttributeSpec("include_last_offset", "bools", ()),
        AttributeSpec("padding_idx", "ints", ()),
    )

    def rows(self, facts: RowFacts) -> RowTag:
        return jagged_rows(many(facts.tags[0]), facts)

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        tables, ids, offsets, weights = group_operands(operands)
        lengths = {spec.name: _length(attributes, spec) for spec in self.attributes}
        require_one_each(self, (tables, ids, offsets, weights), lengths)
        options = group_options(attributes, len(tables))
        bags = [infer_bags(self, *each) for each in zip(tables, ids, offsets, weights, options, strict=True)]
        if any(bag != bags[0] for bag in bags):
            raise self.fail(f"bags {', '.join(map(str, bags))}", "equal dtype, number of bags and width")
        return bags[0].with_shape((bags[0].shape[0], len(bags), bags[0].shape[1]))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        tables, ids, offsets, weights = group_operands(operands)
        options = group_options(attributes, len(tables))
        names = [BagNames(self.name, f"ids[{t}]", f"offsets[{t}]") for t in range(len(tables))]
        columns = zip(tables, ids, offsets, weights, options, names, strict=True)
        return np.stack([reduce_bags(*column) for column in columns], axis=1)


def bag_options(attributes: Attributes) -> BagOptions:
    """The options of an `embedding_bag`."""
    return BagOptions(
        attributes.str("mode"), attributes.bool("include_last_offset"), attributes.int("padding_idx")
    )


def group_operands(
    operands: Operands[T],
) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T | None, ...], tuple[T | None, ...]]:
    """The tables, ids, offsets and weights of an `embedding_bag_group`, lists of none filled up with None."""
    tables, ids = many(operands[0]), many(operands[1])
    nothing = (None,) * len(tables)
    return tables, ids, many_optional(operands[2]) or nothing, many_optional(operands[3]) or nothing


def require_one_each(op: Op, columns: Sequence[Sequence[object]], lengths: Mapping[str, int]) -> None:
    """Refuse a group of no tables, and lists that do not have one item for each table.

    Args:
        op: a group of bags.
        columns: tables, ids, offsets and weights.
        lengths: of lists that are attributes; empty ones stand for defaults.

    Raises:
        TypeRuleError: where they do not fit.
    """
    tables = len(columns[0])
    if not tables:
        raise op.fail("no tables", "at least one")
    counts = dict(zip(("ids", "offsets", "weights"), map(len, columns[1:]), strict=True))
    counts |= {name: length or tables for name, length in lengths.items()}
    for name, count in counts.items():
        if count != tables:
            raise op.fail(f"{count} {name}", f"{tables}, one for each table")


def _length(attributes: Attributes, spec: AttributeSpec) -> int:
    return len(cast("tuple[Attribute, ...]", attributes[spec.name]))


OPS: tuple[Op, ...] = (Embedding(), EmbeddingBag(), EmbeddingBagGroup())
