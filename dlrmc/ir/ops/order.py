"""Ops along one dimension in which the order of the elements counts: sorting and running sums."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, AttributeSpec, Op, Operands, OperandSpec, RowFacts, one
from dlrmc.ir.ops.numeric import exact, quiet, rounded, widened
from dlrmc.ir.ops.rules import require_dim
from dlrmc.ir.rows import RowTag
from dlrmc.ir.types import DType, TensorType


class _AlongDim(Op):
    """Works along `dim`, counted from the front."""

    operands = (OperandSpec("x"),)

    def rows(self, facts: RowFacts) -> RowTag:
        return facts.along((facts.attributes.int("dim"),))


class Argsort(_AlongDim):
    """The positions (i64) of the first `count` elements of x when sorted along one dimension (aten.sort).

    Equal elements stay in order, and a NaN is larger than any number. With count 1 this is argmin, and argmax
    if descending; `gather` gives the elements themselves.
    """

    name = "argsort"
    aten = ("aten.sort.stable", "aten.sort.default", "aten.topk.default", "aten.argmax.default")
    attributes = (
        AttributeSpec("dim", "int"),
        AttributeSpec("count", "int"),
        AttributeSpec("descending", "bool", False),
    )

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, dim, count = one(operands[0]), attributes.int("dim"), attributes.int("count")
        require_dim(self, dim, x.rank)
        if not 0 <= count <= x.shape[dim]:
            raise self.fail(f"count={count} of {x.shape[dim]}", f"0 <= count <= {x.shape[dim]}")
        return TensorType(DType.I64, (*x.shape[:dim], count, *x.shape[dim + 1 :]))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x, dim = widened(one(operands[0])), attributes.int("dim")
        if attributes.bool("descending"):
            # The stable order of the reversed elements, reversed, keeps equal ones in order.
            backwards = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
            positions = x.shape[dim] - 1 - np.flip(backwards, dim)
        else:
            positions = np.argsort(x, axis=dim, kind="stable")
        return np.take(positions, np.arange(attributes.int("count")), axis=dim).astype(np.int64)


class _Running(_AlongDim):
    """The reduction of each element and all before it; of bool and integers in i64."""

    attributes = (AttributeSpec("dim", "int"),)
    accumulate: ClassVar[np.ufunc]

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x = one(operands[0])
        require_dim(self, attributes.int("dim"), x.rank)
        return x if x.dtype.is_float else x.with_dtype(DType.I64)

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x = one(operands[0])
        dtype = DType.of_numpy(x.dtype)
        wide = exact(x) if dtype.is_float else x.astype(np.int64)
        with quiet():
            value = self.accumulate.accumulate(wide, axis=attributes.int("dim"))
        return rounded(value, dtype if dtype.is_float else DType.I64)


class Cumsum(_Running):
    """The sum of each element and all before it along one dimension; of integers in i64 (aten.cumsum)."""

    name = "cumsum"
    aten = ("aten.cumsum.default",)
    accumulate = np.add


class Cumprod(_Running):
    """The product of each element and all before it along one dimension (aten.cumprod)."""

    name = "cumprod"
    aten = ("aten.cumprod.default",)
    accumulate = np.multiply


OPS: tuple[Op, ...] = (Argsort(), Cumsum(), Cumprod())
