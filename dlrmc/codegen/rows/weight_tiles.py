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


@dataclass(frozen=True, slots=True)
class WeightShape:
    """How the weights of one linear stage stand in shared memory.

    Args:
        n: rows of w.
        k: columns of w.
        stride: elements from row to row; columns k to `padded` are zero.
        padded: columns that are read.
        has_bias: whether n elements of bias follow w.
    """

    n: int
    k: int
    stride: int
    padded: int
    has_bias: bool

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
    n, k = one(anchor.operands[1]).shape
    is_tensor = uses_tensor_cores(anchor)
    stride = tensor_stride(k) if is_tensor else odd_packs(k)
    padded = round_up(k, TENSOR_DEPTH if is_tensor else PACK)
    has_bias = optional(anchor.operands[2]) is not None
    return WeightShape(n, k, stride, padded, has_bias)


def copy_weights(
    shape: WeightShape, buffer: str, weight: Window, bias: Window | None, threads: int
) -> Iterator[str]:
    """The statements that start the copies and write the zeros of one stage's weights."""
    row, column = weight.strides
    pack = weight.pack(shape.k, (row,)) if column == 1 else 1
    arguments = (buffer, weight.start, "threadIdx.x", str(threads))
    sizes = f"{shape.n}, {shape.k}, {shape.stride}, {shape.padded}, {row}, {column}"
    yield from call(f"copy_weights_async<{4 if pack == 4 else 1}, {sizes}>", *arguments)
    if bias is not None:
        target = f"{buffer} + {shape.bias_offset}"
        sizes = f"1, {shape.n}, {shape.n}, {shape.n}, 0, {bias.strides[0]}"
        yield from call(f"copy_weights_async<1, {sizes}>", target, bias.start, "threadIdx.x", str(threads))
