"""Embedding bags over tables whose rows are bytes or nibbles, each row with a scale and a bias at its end.

The formats are those of torch.ops.quantized.embedding_bag_{byte,4bit}_prepack: a row of 8-bit codes ends with
scale and bias as two float32, one of 4-bit codes (the low nibble first) with two float16. Code q stands for
scale * q + bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Arity, Array, AttributeSpec, Op, Operands, OperandSpec, RowFacts, many, one, optional
from dlrmc.ir.ops.bags import BagNames, bag_positions, infer_bag_count
from dlrmc.ir.ops.embedding import group_operands, jagged_rows, require_one_each
from dlrmc.ir.ops.numeric import fused_multiply_add, quiet
from dlrmc.ir.ops.rules import require_index, require_rank, require_shape
from dlrmc.ir.rows import RowTag, rows_or_mixed
from dlrmc.ir.types import DType, TensorType


@dataclass(frozen=True, slots=True)
class RowFormat:
    """How a row is stored.

    Attributes:
        codes: in a byte.
        number: the dtype of scale and bias.
    """

    codes: int
    number: DType

    @property
    def tail_bytes(self) -> int:
        """What scale and bias take."""
        return 2 * self.number.size_bytes

    def width(self, row_bytes: int) -> int:
        """The number of codes of a row."""
        return (row_bytes - self.tail_bytes) * self.codes


ROW_FORMATS: Mapping[int, RowFormat] = MappingProxyType(
    {8: RowFormat(1, DType.F32), 4: RowFormat(2, DType.F16)}
)


class QuantizedEmbeddingBag(Op):
    """The sum of dequantised rows of table[R, bytes] (u8) in each of B bags, giving f32[B, D].

    This is quantized.embedding_bag_byte_rowwise_offsets (bits=8, D = bytes - 8) and
    quantized.embedding_bag_4bit_rowwise_offsets (bits=4, D = 2 * (bytes - 4)) of torch, as the CPU computes
    them: row after row, in float32, y = fma(weight * scale, code, y + weight * bias).

    ids, offsets and include_last_offset are those of embedding_bag; weights are f32. An empty bag gives
    zeros.
    """

    name = "quantized_embedding_bag"
    aten = (
        "quantized.embedding_bag_byte_rowwise_offsets.default",
        "quantized.embedding_bag_4bit_rowwise_offsets.default",
    )
    operands = (
        OperandSpec("table"),
        OperandSpec("ids"),
        OperandSpec("offsets", Arity.OPTIONAL),
        OperandSpec("weights", Arity.OPTIONAL),
    )
    attributes = (AttributeSpec("bits", "int", 8), AttributeSpec("include_last_offset", "bool", False))

    def rows(self, facts: RowFacts) -> RowTag:
        if optional(facts.tags[2]) is None:
            return rows_or_mixed([one(facts.tags[1])], uniform=[one(facts.tags[0])])
        return jagged_rows([one(facts.tags[0])], facts)

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        parts = one(operands[0]), one(operands[1]), optional(operands[2]), optional(operands[3])
        options = attributes.int("bits"), attributes.bool("include_last_offset")
        return _infer_bags(self, *parts, *options)

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        parts = one(operands[0]), one(operands[1]), optional(operands[2]), optional(operands[3])
        options = attributes.int("bits"), attributes.bool("include_last_offset")
        return _reduce_bags(*parts, *options, BagNames(self.name))


class QuantizedEmbeddingBagGroup(Op):
    """T quantized_embedding_bags of equal bits, D and B, stacked: f32[B, T, D].

    Lists and absent items are those of embedding_bag_group.
    """

    name = "quantized_embedding_bag_group"
    operands = (
        OperandSpec("tables", Arity.MANY),
        OperandSpec("ids", Arity.MANY),
        OperandSpec("offsets", Arity.MANY),
        OperandSpec("weights", Arity.MANY),
    )
    attributes = (AttributeSpec("bits", "int", 8), AttributeSpec("include_last_offset", "bools", ()))

    def rows(self, facts: RowFacts) -> RowTag:
        return jagged_rows(many(facts.tags[0]), facts)

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        columns = group_operands(operands)
        ends = attributes.bools("include_last_offset")
        require_one_each(self, columns, {"include_last_offset": len(ends)})
        tables, bits = zip(*columns, ends or (False,) * len(columns[0]), strict=True), attributes.int("bits")
        bags = [
            _infer_bags(self, table, ids, offsets, weights, bits, is_last)
            for table, ids, offsets, weights, is_last in tables
        ]
        if any(bag != bags[0] for bag in bags):
            raise self.fail(f"bags {', '.join(map(str, bags))}", "equal number of bags and width")
        return bags[0].with_shape((bags[0].shape[0], len(bags), bags[0].shape[1]))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        columns = group_operands(operands)
        count, bits = len(columns[0]), attributes.int("bits")
        ends = attributes.bools("include_last_offset") or (False,) * count
        names = [BagNames(self.name, f"ids[{t}]", f"offsets[{t}]") for t in range(count)]
        bags = [
            _reduce_bags(table, ids, offsets, weights, bits, is_last, name)
            for table, ids, offsets, weights, is_last, name in zip(*columns, ends, names, strict=True)
        ]
        return np.stack(bags, axis=1)


def _infer_bags(
    op: Op,
    table: TensorType,
    ids: TensorType,
    offsets: TensorType | None,
    weights: TensorType | None,
    bits: int,
    include_last_offset: bool,
) -> TensorType:
    """The type [B, D] of the bags of one table."""
    if bits not in ROW_FORMATS:
        raise op.fail(f"bits={bits}", f"bits one of {', '.join(map(str, ROW_FORMATS))}")
    if table.dtype is not DType.U8:
        raise op.fail(f"table is {table}", "dtype u8")
    require_rank(op, "table", table, 2)
    width = ROW_FORMATS[bits].width(table.shape[1])
    if width < 1:
        tail_bytes = ROW_FORMATS[bits].tail_bytes
        raise op.fail(f"table is {table}", f"rows of more than {tail_bytes} bytes, scale and bias")
    require_index(op, "ids", ids)
    count = infer_bag_count(op, ids, offsets, include_last_offset)
    if weights is not None:
        if weights.dtype is not DType.F32:
            raise op.fail(f"weights is {weights}", "dtype f32", "insert a cast")
        require_shape(op, "weights", weights, ids.shape)
    return TensorType(DType.F32, (count, width))


def _reduce_bags(
    table: Array,
    ids: Array,
    offsets: Array | None,
    weights: Array | None,
    bits: int,
    include_last_offset: bool,
    names: BagNames,
) -> Array:
    """The bags [B, D] of one table, row after row."""
    row_format = ROW_FORMATS[bits]
    begins, ends, used = bag_positions(len(table), ids, offsets, include_last_offset, names)
    flat_weights = np.ones(ids.size, np.float32) if weights is None else weights.reshape(-1)
    result = np.zeros((len(begins), row_format.width(table.shape[1])), np.float32)
    with quiet():
        for step in range(int(np.max(ends - begins, initial=0))):
            bags = np.nonzero(begins + step < ends)[0]
            positions = begins[bags] + step
            codes, scale, bias = decode_rows(table[used[positions]], row_format)
            weight = flat_weights[positions, None]
            result[bags] = fused_multiply_add(weight * scale, codes, result[bags] + weight * bias)
    return result


def decode_rows(rows: Array, row_format: RowFormat) -> tuple[Array, Array, Array]:
    """Codes [N, D], scales [N, 1] and biases [N, 1] of stored rows u8[N, bytes], all in float32."""
    end = rows.shape[1] - row_format.tail_bytes
    number: np.dtype[Any] = row_format.number.numpy
    numbers = np.ascontiguousarray(rows[:, end:]).view(number).astype(np.float32)
    bits = 8 // row_format.codes
    shifts = np.arange(row_format.codes, dtype=np.uint8) * np.uint8(bits)
    codes = (rows[:, :end, None] >> shifts) & np.uint8((1 << bits) - 1)
    return codes.reshape(len(rows), -1).astype(np.float32), numbers[:, :1], numbers[:, 1:]


OPS: tuple[Op, ...] = (QuantizedEmbeddingBag(), QuantizedEmbeddingBagGroup())
