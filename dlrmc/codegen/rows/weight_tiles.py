"""Weights and biases of linear stages, copied into shared memory while ids and rows are still in flight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dlrmc.codegen.kernels.sizes import odd_packs, round_up
from dlrmc.codegen.kernels.tile_text import call
from dlrmc.codegen.kernels.windows import Window
from dlrmc.codegen.rows.operand_tiles import PACK, TENSOR_DEPTH, tensor_stride, uses_tensor_cores
from dlrmc.ir.graph import Node
from dlrmc.ir.op import one, optional
from dlrmc.ir.strided import resolve_strided

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class WeightShape:
    """How the weights of one linear stage stand in shared memory.

    Args:
        n: rows of w.
        k: columns of w.
        stride: elements from row to row; columns k to `padded` are zero.
        padded: columns that are read.
        has_bias: whether n elements of bias follow w.
        is_contiguous: whether the rows stand in memory as they shall stand here, so that one bulk copy takes
            all.
    """

    n: int
    k: int
    stride: int
    padded: int
    has_bias: bool
    is_contiguous: bool

    @property
    def bias_offset(self) -> int:
        """Where the bias begins, in elements."""
        return self.n * self.stride

    @property
    def elements(self) -> int:
        """Size in elements."""
        return self.bias_offset + (round_up(self.n, PACK) if self.has_bias else 0)


def weight_shape(anchor: Node) -> WeightShape:
    """The shape of the weights of a `linear`."""
    weight = one(anchor.operands[1])
    n, k = weight.shape
    is_tensor = uses_tensor_cores(anchor)
    stride = tensor_stride(k) if is_tensor else odd_packs(k)
    padded = round_up(k, TENSOR_DEPTH if is_tensor else PACK)
    has_bias = optional(anchor.operands[2]) is not None
    row = _row_in_memory(weight)
    # Lanes that share k read neighbouring packs of a row, so that any stride of whole packs will do for them.
    is_contiguous = padded == k and row % PACK == 0 and (row == stride if is_tensor else row > 0)
    return WeightShape(n, k, row if is_contiguous else stride, padded, has_bias, is_contiguous)


def _row_in_memory(weight: Node) -> int:
    """Elements from row to row of weights whose rows are contiguous and begin the value; 0 for others."""
    window = resolve_strided(weight)
    if window is None or window.offset or window.strides[1] != 1 or window.root.type.rank != 2:
        return 0
    return window.strides[0]


def copy_weights(
    shape: WeightShape, buffer: str, weight: Window, bias: Window | None, threads: int
) -> Iterator[str]:
    """The statements that start the copies and write the zeros of one stage's weights."""
    row, column = weight.strides
    pack = weight.pack(shape.k, (row,)) if column == 1 else 1
    thread = f"threadIdx.x % {threads}"
    arguments = (buffer, weight.start, thread, str(threads))
    sizes = f"{shape.n}, {shape.k}, {shape.stride}, {shape.padded}, {row}, {column}"
    yield from call(f"copy_weights_async<{4 if pack == 4 else 1}, {sizes}>", *arguments)
    if bias is not None:
        target = f"{buffer} + {shape.bias_offset}"
        sizes = f"1, {shape.n}, {shape.n}, {shape.n}, 0, {bias.strides[0]}"
        yield from call(f"copy_weights_async<1, {sizes}>", target, bias.start, thread, str(threads))


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """One run of bytes that a single thread asks for: where to, where from, how many."""

    to: str
    start: str
    size_bytes: int


def bulk_copies(shape: WeightShape, buffer: str, weight: Window, bias: Window | None) -> list[BulkCopy]:
    """The bulk copies of one stage's weights; empty where they cannot be taken so."""
    is_in_place = shape.is_contiguous and weight.strides == (shape.stride, 1)
    if not is_in_place or weight.pack(shape.k, (shape.stride,)) != PACK:
        return []
    copies = [BulkCopy(buffer, weight.start, ((shape.n - 1) * shape.stride + shape.k) * FLOAT_BYTES)]
    if bias is not None:
        if bias.strides[0] != 1 or bias.pack(shape.n, ()) != PACK:
            return []
        copies.append(BulkCopy(f"{buffer} + {shape.bias_offset}", bias.start, shape.n * FLOAT_BYTES))
    return copies
