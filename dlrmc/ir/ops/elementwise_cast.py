"""Ops that fit values into a range: `clamp`, and `cast` to another dtype."""

from __future__ import annotations

import math

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, AttributeSpec, Op, Operands, one
from dlrmc.ir.ops.activations import literal
from dlrmc.ir.ops.elementwise_base import COMPUTE_TYPES, Formula
from dlrmc.ir.ops.numeric import quiet
from dlrmc.ir.types import DType, TensorType

# Integers up to here are exact as the float that an attribute holds.
_LARGEST_EXACT_INTEGER = 2**53


class Clamp(Formula):
    """min(max(x, min), max) of a number of any shape; a NaN stays (aten.clamp with number bounds).

    Where min > max the result is max. Bounds of an integer x are integers or infinite.
    """

    name = "clamp"
    aten = ("aten.clamp.default",)
    attributes = (AttributeSpec("min", "float", -math.inf), AttributeSpec("max", "float", math.inf))
    accepts = "number"

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        for name in ("min", "max"):
            self._check_bound(name, attributes.float(name), one(operands[0]).dtype)
        return super().infer(operands, attributes)

    def _check_bound(self, name: str, bound: float, dtype: DType) -> None:
        if math.isnan(bound):
            raise self.fail(f"{name}=nan", "a number")
        if dtype.is_float or math.isinf(bound):
            return
        lowest, highest = _limits(dtype)
        if not bound.is_integer() or abs(bound) > _LARGEST_EXACT_INTEGER or not lowest <= bound <= highest:
            expected = f"an integer of at most 53 bits that {dtype} holds"
            raise self.fail(f"{name}={bound!r} for {dtype}", expected, "insert a cast")

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        (x,) = arrays
        dtype = DType.of_numpy(x.dtype)
        low, high = (x.dtype.type(_bound(attributes.float(name), dtype)) for name in ("min", "max"))
        return np.minimum(np.maximum(x, low), high)

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        low, high = attributes.float("min"), attributes.float("max")
        value = x if low == -math.inf else f"dlrmc_maximum({x}, {_constant(low, dtype)})"
        return value if high == math.inf else f"dlrmc_minimum({value}, {_constant(high, dtype)})"


def _limits(dtype: DType) -> tuple[int, int]:
    """The lowest and the highest value of an integer dtype."""
    bits = 8 * dtype.size_bytes
    return (0, 2**bits - 1) if dtype is DType.U8 else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _bound(bound: float, dtype: DType) -> float | int:
    """The bound as a value of the dtype; of an integer dtype, its limit where the bound is infinite."""
    if dtype.is_float:
        return bound
    lowest, highest = _limits(dtype)
    if math.isinf(bound):
        return lowest if bound < 0 else highest
    return int(bound)


def _constant(bound: float, dtype: DType) -> str:
    """The bound as a C constant of the compute type."""
    value = _bound(bound, dtype)
    if isinstance(value, float):
        return literal(value, dtype)
    # C has no literal for the lowest integer, only for its successor.
    digits = f"{value}LL" if value > -(2**63) else f"{value + 1}LL - 1"
    return f"({COMPUTE_TYPES[dtype]})({digits})"


class Cast(Formula):
    """x in the dtype `to`, of any dtype and shape (aten._to_copy with a dtype).

    To an integer it truncates, to bool it is x != 0, and to f16 and bf16 it rounds through f32. A float
    outside of the range of i64 (of i32, to i32), or a NaN, gives an unspecified integer, as in torch.
    """

    name = "cast"
    aten = ("aten._to_copy.default", "prims.convert_element_type.default")
    attributes = (AttributeSpec("to", "dtype"),)
    accepts = "any"

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        return one(operands[0]).with_dtype(attributes.dtype("to"))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x, to = np.asarray(one(operands[0])), attributes.dtype("to")
        with quiet():
            if to is DType.BOOL:
                return np.asarray(x != 0)
            if DType.of_numpy(x.dtype).is_float and to in (DType.U8, DType.I8):
                x = x.astype(np.int64)
            if to in (DType.F16, DType.BF16):
                x = x.astype(np.float32)
            return x.astype(to.numpy)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return self.reference(arrays, attributes)

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        to = attributes.dtype("to")
        if to is DType.BOOL:
            return f"({x} != 0)"
        through = "(long long)" if dtype.is_float and to in (DType.U8, DType.I8) else ""
        return f"(({COMPUTE_TYPES[to]}){through}{x})"


OPS: tuple[Op, ...] = (
    Clamp(),
    Cast(),
)
