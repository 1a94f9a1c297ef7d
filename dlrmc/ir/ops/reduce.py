"""Reductions and what is built on them. The reference accumulates floats in float64 and rounds once."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

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
    one,
    optional,
)
from dlrmc.ir.ops.numeric import exact, quiet, rounded
from dlrmc.ir.ops.rules import require_dim, require_dims, require_float, require_same_dtype, require_shape
from dlrmc.ir.rows import RowTag, rows_or_mixed
from dlrmc.ir.types import DType, TensorType

_X = (OperandSpec("x"),)


class _Reduction(Op):
    """Reduces the dimensions `dims`, sorted and counted from the front; keepdim keeps them with size 1."""

    operands = _X
    attributes = (AttributeSpec("dims", "ints"), AttributeSpec("keepdim", "bool", False))
    accepts_any: ClassVar[bool] = True
    # Whether sums of bool and integers are counted in i64.
    widens_integers: ClassVar[bool] = False
    # Whether there is a value for no elements.
    has_identity: ClassVar[bool] = True

    def rows(self, facts: RowFacts) -> RowTag:
        return facts.along(facts.attributes.ints("dims"))

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, dims = one(operands[0]), attributes.ints("dims")
        if not self.accepts_any:
            require_float(self, "x", x)
        require_dims(self, dims, x.rank)
        if not self.has_identity and any(not x.shape[dim] for dim in dims):
            raise self.fail(f"x is {x}", "a size of 1 or more in each reduced dimension")
        return TensorType(self._result_dtype(x.dtype), _reduced(x.shape, dims, attributes.bool("keepdim")))

    def _result_dtype(self, dtype: DType) -> DType:
        return DType.I64 if self.widens_integers and not dtype.is_float else dtype

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x = one(operands[0])
        dtype = DType.of_numpy(x.dtype)
        result = self._result_dtype(dtype)
        wide = exact(x) if dtype.is_float else x.astype(result.numpy)
        with quiet():
            value = self.fold(wide, attributes.ints("dims"), attributes.bool("keepdim"))
            return rounded(value, result)

    @abstractmethod
    def fold(self, x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
        """The reduced array."""


class Sum(_Reduction):
    """The sum over several dimensions; of bool and integers in i64 (aten.sum)."""

    name = "sum"
    aten = ("aten.sum.dim_IntList", "aten.sum.default")
    widens_integers = True

    def fold(self, x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
        return np.sum(x, axis=dims, keepdims=keepdim)


class Mean(_Reduction):
    """The mean of floats over several dimensions; NaN for no elements (aten.mean)."""

    name = "mean"
    aten = ("aten.mean.dim", "aten.mean.default")
    accepts_any = False

    def fold(self, x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
        count = math.prod(x.shape[dim] for dim in dims)
        return np.sum(x, axis=dims, keepdims=keepdim) / np.float64(count)


class Amax(_Reduction):
    """The largest element over several dimensions; NaN where one is NaN (aten.amax)."""

    name = "amax"
    aten = ("aten.amax.default",)
    has_identity = False

    def fold(self, x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
        return np.max(x, axis=dims, keepdims=keepdim)


class Amin(_Reduction):
    """The smallest element over several dimensions; NaN where one is NaN (aten.amin)."""

    name = "amin"
    aten = ("aten.amin.default",)
    has_identity = False

    def fold(self, x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
        return np.min(x, axis=dims, keepdims=keepdim)


class Prod(_Reduction):
    """The product over several dimensions; of bool and integers in i64 (aten.prod)."""

    name = "prod"
    aten = ("aten.prod.dim_int", "aten.prod.default")
    widens_integers = True

    def fold(self, x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
        return np.prod(x, axis=dims, keepdims=keepdim)


class _Softmax(Op):
    """Normalises along one dimension; a scalar has one dimension of size 1."""

    operands = _X
    attributes = (AttributeSpec("dim", "int"),)

    def rows(self, facts: RowFacts) -> RowTag:
        return facts.along((facts.attributes.int("dim"),))

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x = one(operands[0])
        require_float(self, "x", x)
        require_dim(self, attributes.int("dim"), max(x.rank, 1))
        return x

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x, dim = one(operands[0]), attributes.int("dim")
        if not x.size:
            return x
        wide = exact(x).reshape(x.shape or (1,))
        with quiet():
            value = self.normalise(wide - np.max(wide, axis=dim, keepdims=True), dim)
        return rounded(value.reshape(x.shape), DType.of_numpy(x.dtype))

    @abstractmethod
    def normalise(self, x: Array, dim: int) -> Array:
        """The result for values whose largest along `dim` is 0."""


class Softmax(_Softmax):
    """exp(x) / sum(exp(x)) of floats along one dimension (aten.softmax, aten._softmax)."""

    name = "softmax"
    aten = ("aten.softmax.int", "aten._softmax.default")

    def normalise(self, x: Array, dim: int) -> Array:
        powers = np.exp(x)
        return powers / np.sum(powers, axis=dim, keepdims=True)


class LogSoftmax(_Softmax):
    """x - log(sum(exp(x))) of floats along one dimension (aten.log_softmax, aten._log_softmax)."""

    name = "log_softmax"
    aten = ("aten.log_softmax.int", "aten._log_softmax.default")

    def normalise(self, x: Array, dim: int) -> Array:
        return x - np.log(np.sum(np.exp(x), axis=dim, keepdims=True))


class LayerNorm(Op):
    """(x - mean) / sqrt(variance + eps) * w + b along the last dimension of x[..., N] (aten.layer_norm).

    The variance is that of the population. w[N] and b[N] may be absent.
    """

    name = "layer_norm"
    aten = ("aten.layer_norm.default", "aten.native_layer_norm.default")
    operands = (OperandSpec("x"), OperandSpec("w", Arity.OPTIONAL), OperandSpec("b", Arity.OPTIONAL))
    attributes = (AttributeSpec("eps", "float"),)

    def rows(self, facts: RowFacts) -> RowTag:
        if one(facts.types[0]).rank < 2:
            return facts.uniform_or_mixed
        return rows_or_mixed([one(facts.tags[0])], uniform=flatten(facts.tags[1:]))

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x = one(operands[0])
        require_float(self, "x", x)
        if not x.rank:
            raise self.fail(f"x is {x}", "rank 1 or more")
        for name, operand in (("w", optional(operands[1])), ("b", optional(operands[2]))):
            if operand is not None:
                require_same_dtype(self, (x, operand))
                require_shape(self, name, operand, (x.shape[-1],))
        return x

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x, weight, bias = one(operands[0]), optional(operands[1]), optional(operands[2])
        wide = exact(x)
        with quiet():
            centred = wide - np.sum(wide, axis=-1, keepdims=True) / np.float64(x.shape[-1])
            variance = np.sum(centred * centred, axis=-1, keepdims=True) / np.float64(x.shape[-1])
            value = centred / np.sqrt(variance + attributes.float("eps"))
            value = value if weight is None else value * exact(weight)
            value = value if bias is None else value + exact(bias)
        return rounded(value, DType.of_numpy(x.dtype))


def _reduced(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    if keepdim:
        return tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    return tuple(size for dim, size in enumerate(shape) if dim not in dims)


OPS: tuple[Op, ...] = (Sum(), Mean(), Amax(), Amin(), Prod(), Softmax(), LogSoftmax(), LayerNorm())
