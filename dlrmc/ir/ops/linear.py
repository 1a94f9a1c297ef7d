"""Products of matrices. References accumulate in float64 and round once; kernels accumulate in float32."""

from __future__ import annotations

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import (
    Arity,
    Array,
    AttributeSpec,
    Op,
    Operands,
    OperandSpec,
    RowFacts,
    flatten,
    many,
    one,
    optional,
)
from dlrmc.ir.ops.activations import ACTIVATIONS
from dlrmc.ir.ops.numeric import exact, quiet, rounded
from dlrmc.ir.ops.rules import listed, require_float, require_rank, require_same_dtype, require_shape
from dlrmc.ir.rows import RowTag, rows_or_mixed
from dlrmc.ir.types import DType, TensorType

_SCALES = (AttributeSpec("alpha", "float", 1.0), AttributeSpec("beta", "float", 1.0))


def _scaled_sum(product: Array, bias: Array | None, attributes: Attributes) -> Array:
    """The scaled sum; a bias with beta 0 is not read, so that its NaNs do not count, as in torch."""
    scaled = attributes.float("alpha") * product
    beta = attributes.float("beta")
    return scaled if bias is None or beta == 0.0 else scaled + beta * exact(bias)


class Linear(Op):
    """act(alpha * (x @ w.T) + beta * bias) for x[..., K], w[N, K] and bias[N], giving [..., N] (aten.linear).

    x may come in parts [..., K_p], read as if concatenated on the last axis. The activation is the
    elementwise op of its name (gelu_tanh is gelu with approximate=tanh), applied before the result is
    rounded; `slope` is that of leaky_relu. With beta 0 the bias is not read.
    """

    name = "linear"
    aten = ("aten.linear.default",)
    operands = (OperandSpec("x", Arity.PARTS), OperandSpec("w"), OperandSpec("bias", Arity.OPTIONAL))
    attributes = (
        AttributeSpec("act", "str", "none", tuple(ACTIVATIONS)),
        *_SCALES,
        AttributeSpec("slope", "float", 0.01),
    )

    def rows(self, facts: RowFacts) -> RowTag:
        rest = (one(facts.tags[1]), *([] if facts.tags[2] is None else [one(facts.tags[2])]))
        has_rows = all(part.rank > 1 for part in many(facts.types[0]))
        return rows_or_mixed(many(facts.tags[0]), uniform=rest) if has_rows else facts.uniform_or_mixed

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        parts, weight, bias = many(operands[0]), one(operands[1]), optional(operands[2])
        if not parts:
            raise self.fail("no part of x", "at least one")
        require_float(self, "w", weight)
        dtype = require_same_dtype(self, (*parts, weight, *([] if bias is None else [bias])))
        require_rank(self, "w", weight, 2)
        self._check_parts(parts, weight)
        if bias is not None:
            require_shape(self, "bias", bias, (weight.shape[0],))
        return TensorType(dtype, (*parts[0].shape[:-1], weight.shape[0]))

    def _check_parts(self, parts: tuple[TensorType, ...], weight: TensorType) -> None:
        if any(not part.rank for part in parts):
            raise self.fail("a part of x of rank 0", "rank 1 or more")
        if any(part.shape[:-1] != parts[0].shape[:-1] for part in parts):
            raise self.fail(f"parts {', '.join(map(str, parts))}", "equal shapes up to the last dimension")
        width = sum(part.shape[-1] for part in parts)
        if width != weight.shape[1]:
            raise self.fail(f"x of width {width} with w {weight}", f"x of width {weight.shape[1]}")

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        parts, weight, bias = many(operands[0]), one(operands[1]), optional(operands[2])
        x = np.concatenate([exact(part) for part in parts], axis=-1)
        activation = ACTIVATIONS[attributes.str("act")].numpy
        with quiet():
            value = _scaled_sum(x @ exact(weight).T, bias, attributes)
            return rounded(activation(value, attributes.float("slope")), DType.of_numpy(weight.dtype))


class Mm(Op):
    """a @ b for a[M, K] and b[K, N], giving [M, N] (aten.mm)."""

    name = "mm"
    aten = ("aten.mm.default",)
    operands = (OperandSpec("a"), OperandSpec("b"))

    def rows(self, facts: RowFacts) -> RowTag:
        return rows_or_mixed([one(facts.tags[0])], uniform=[one(facts.tags[1])])

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        a, b = one(operands[0]), one(operands[1])
        return TensorType(require_same_dtype(self, (a, b)), _product_shape(self, a, b))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        a, b = one(operands[0]), one(operands[1])
        with quiet():
            return rounded(exact(a) @ exact(b), DType.of_numpy(a.dtype))


class Addmm(Op):
    """alpha * (a @ b) + beta * bias for a[M, K], b[K, N] and a bias that broadcasts to [M, N] (aten.addmm).

    With beta 0 the bias is not read.
    """

    name = "addmm"
    aten = ("aten.addmm.default",)
    operands = (OperandSpec("bias"), OperandSpec("a"), OperandSpec("b"))
    attributes = _SCALES

    def rows(self, facts: RowFacts) -> RowTag:
        bias = one(facts.types[0])
        if bias.rank == 2 and bias.shape[0] != 1:
            return facts.uniform_or_mixed
        return rows_or_mixed([one(facts.tags[1])], uniform=[one(facts.tags[0]), one(facts.tags[2])])

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        bias, a, b = (one(operand) for operand in operands)
        dtype = require_same_dtype(self, (bias, a, b))
        shape = _product_shape(self, a, b)
        fits = bias.rank <= 2 and all(
            size in (1, wanted) for size, wanted in zip(bias.shape[::-1], shape[::-1], strict=False)
        )
        if not fits:
            raise self.fail(f"bias is {bias}", f"a shape that broadcasts to {listed(shape)}")
        return TensorType(dtype, shape)

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        bias, a, b = (one(operand) for operand in operands)
        with quiet():
            return rounded(_scaled_sum(exact(a) @ exact(b), bias, attributes), DType.of_numpy(a.dtype))


class Bmm(Op):
    """a @ b for each of B matrices a[B, M, K] and b[B, K, N], giving [B, M, N] (aten.bmm).

    With trans_a, a is stored as [B, K, M]; with trans_b, b is stored as [B, N, K].
    """

    name = "bmm"
    aten = ("aten.bmm.default",)
    operands = (OperandSpec("a"), OperandSpec("b"))
    attributes = (AttributeSpec("trans_a", "bool", False), AttributeSpec("trans_b", "bool", False))

    def rows(self, facts: RowFacts) -> RowTag:
        return rows_or_mixed(flatten(facts.tags))

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        a, b = one(operands[0]), one(operands[1])
        require_float(self, "a", a)
        dtype = require_same_dtype(self, (a, b))
        require_rank(self, "a", a, 3)
        require_rank(self, "b", b, 3)
        rows, inner = a.shape[1:][::-1] if attributes.bool("trans_a") else a.shape[1:]
        inner_b, columns = b.shape[1:][::-1] if attributes.bool("trans_b") else b.shape[1:]
        if a.shape[0] != b.shape[0]:
            raise self.fail(f"a is {a}, b is {b}", "equal first dimensions")
        if inner != inner_b:
            raise self.fail(f"{inner} columns of a, {inner_b} rows of b", "equal inner dimensions")
        return TensorType(dtype, (a.shape[0], rows, columns))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        a, b = one(operands[0]), one(operands[1])
        left = a.swapaxes(1, 2) if attributes.bool("trans_a") else a
        right = b.swapaxes(1, 2) if attributes.bool("trans_b") else b
        with quiet():
            return rounded(exact(left) @ exact(right), DType.of_numpy(a.dtype))


def _product_shape(op: Op, a: TensorType, b: TensorType) -> tuple[int, int]:
    require_float(op, "a", a)
    require_rank(op, "a", a, 2)
    require_rank(op, "b", b, 2)
    if a.shape[1] != b.shape[0]:
        raise op.fail(f"{a.shape[1]} columns of a, {b.shape[0]} rows of b", "equal inner dimensions")
    return (a.shape[0], b.shape[1])


OPS: tuple[Op, ...] = (Linear(), Mm(), Addmm(), Bmm())
