"""Elementwise ops of one operand."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, AttributeSpec, Op, Operands, one
from dlrmc.ir.ops.activations import ACTIVATIONS, erf, library, literal
from dlrmc.ir.ops.elementwise_base import COMPUTE_TYPES, Unary, atom
from dlrmc.ir.types import DType, TensorType

# Integers up to here are exact as the float that an attribute holds.
_LARGEST_EXACT_INTEGER = 2**53


class _Activation(Unary):
    """An activation, also known to the epilogue of `linear`."""

    activation: ClassVar[str]

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return ACTIVATIONS[self.activate(attributes)].numpy(arrays[0], self.slope(attributes))

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return ACTIVATIONS[self.activate(attributes)].cuda(arguments[0], dtypes[0], self.slope(attributes))

    def activate(self, attributes: Attributes) -> str:
        """The name in ACTIVATIONS."""
        return self.activation

    def slope(self, attributes: Attributes) -> float:
        """The attribute of `leaky_relu`."""
        return 0.0


class _Library(Unary):
    """A function of the C math library and of NumPy."""

    function: ClassVar[np.ufunc]
    c_name: ClassVar[str]

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return self.function(arrays[0])

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return f"{library(self.c_name, dtypes[0])}({arguments[0]})"


class _Formula(Unary):
    """A function that the card writes out itself."""

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return self.expression(atom(arguments[0]), dtypes[0], attributes)

    @abstractmethod
    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        """The CUDA expression; x binds tighter than any operator."""


class Relu(_Activation):
    """max(x, 0) of a number of any shape; a NaN stays (aten.relu)."""

    name = "relu"
    aten = ("aten.relu.default",)
    accepts = "number"
    activation = "relu"


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)) of a float of any shape (aten.sigmoid)."""

    name = "sigmoid"
    aten = ("aten.sigmoid.default",)
    activation = "sigmoid"


class Tanh(_Activation):
    """The hyperbolic tangent of a float of any shape (aten.tanh)."""

    name = "tanh"
    aten = ("aten.tanh.default",)
    activation = "tanh"


class Silu(_Activation):
    """x / (1 + exp(-x)) of a float of any shape (aten.silu)."""

    name = "silu"
    aten = ("aten.silu.default",)
    activation = "silu"


class Gelu(_Activation):
    """x * Phi(x) of a float of any shape, Phi by erf or by its tanh approximation (aten.gelu)."""

    name = "gelu"
    aten = ("aten.gelu.default",)
    attributes = (AttributeSpec("approximate", "str", "none", ("none", "tanh")),)

    def activate(self, attributes: Attributes) -> str:
        return "gelu" if attributes.str("approximate") == "none" else "gelu_tanh"


class LeakyRelu(_Activation):
    """x where x > 0, else slope * x, of a float of any shape (aten.leaky_relu)."""

    name = "leaky_relu"
    aten = ("aten.leaky_relu.default",)
    attributes = (AttributeSpec("slope", "float", 0.01),)
    activation = "leaky_relu"

    def slope(self, attributes: Attributes) -> float:
        return attributes.float("slope")


class Elu(_Formula):
    """x where x > 0, else alpha * (exp(x) - 1), of a float of any shape (aten.elu with scale 1)."""

    name = "elu"
    aten = ("aten.elu.default",)
    attributes = (AttributeSpec("alpha", "float", 1.0),)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        (x,) = arrays
        return np.where(x > 0, x, np.expm1(x) * x.dtype.type(attributes.float("alpha")))

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"dlrmc_elu({x}, {literal(attributes.float('alpha'), dtype)})"


class Neg(_Formula):
    """-x of a number of any shape; integers wrap (aten.neg)."""

    name = "neg"
    aten = ("aten.neg.default",)
    accepts = "number"

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return np.negative(arrays[0])

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"(-{x})" if dtype.is_float else f"dlrmc_sub(({COMPUTE_TYPES[dtype]})0, {x})"


class Abs(_Formula):
    """The absolute value of a number of any shape; the lowest integer stays (aten.abs)."""

    name = "abs"
    aten = ("aten.abs.default",)
    accepts = "number"

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return np.abs(arrays[0])

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        if dtype.is_float:
            return f"{library('fabs', dtype)}({x})"
        return f"({x} < 0 ? dlrmc_sub(({COMPUTE_TYPES[dtype]})0, {x}) : {x})"


class Exp(_Library):
    """e to the power x, of a float of any shape (aten.exp)."""

    name = "exp"
    aten = ("aten.exp.default",)
    function = np.exp
    c_name = "exp"


class Log(_Library):
    """The natural logarithm of a float of any shape (aten.log)."""

    name = "log"
    aten = ("aten.log.default",)
    function = np.log
    c_name = "log"


class Sqrt(_Library):
    """The square root of a float of any shape (aten.sqrt)."""

    name = "sqrt"
    aten = ("aten.sqrt.default",)
    function = np.sqrt
    c_name = "sqrt"


class Sin(_Library):
    """The sine of a float of any shape (aten.sin)."""

    name = "sin"
    aten = ("aten.sin.default",)
    function = np.sin
    c_name = "sin"


class Cos(_Library):
    """The cosine of a float of any shape (aten.cos)."""

    name = "cos"
    aten = ("aten.cos.default",)
    function = np.cos
    c_name = "cos"


class Floor(_Library):
    """The largest integer not above x, of a number of any shape; integers stay (aten.floor)."""

    name = "floor"
    aten = ("aten.floor.default",)
    accepts = "number"
    function = np.floor
    c_name = "floor"

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        (x,) = arrays
        return np.floor(x) if DType.of_numpy(x.dtype).is_float else x

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return super().cuda(arguments, dtypes, attributes) if dtypes[0].is_float else arguments[0]


class Rsqrt(_Formula):
    """1 / sqrt(x) of a float of any shape (aten.rsqrt)."""

    name = "rsqrt"
    aten = ("aten.rsqrt.default",)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return 1.0 / np.sqrt(arrays[0])

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"({literal(1.0, dtype)} / {library('sqrt', dtype)}({x}))"


class Reciprocal(_Formula):
    """1 / x of a float of any shape (aten.reciprocal)."""

    name = "reciprocal"
    aten = ("aten.reciprocal.default",)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return 1.0 / arrays[0]

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"({literal(1.0, dtype)} / {x})"


class Erf(_Formula):
    """The error function of a float of any shape (aten.erf)."""

    name = "erf"
    aten = ("aten.erf.default",)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return erf(arrays[0])

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"{library('erf', dtype)}({x})"


class LogicalNot(_Formula):
    """Whether x is zero or false, as bool, of any dtype and shape (aten.logical_not)."""

    name = "logical_not"
    aten = ("aten.logical_not.default",)
    accepts = "any"
    gives_bool = True

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return np.logical_not(arrays[0])

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"({x} == 0)"


class Clamp(_Formula):
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
        if not bound.is_integer() or abs(bound) > _LARGEST_EXACT_INTEGER:
            raise self.fail(f"{name}={bound!r} of {dtype}", "an integer of at most 53 bits", "insert a cast")
        if not np.iinfo(dtype.numpy).min <= bound <= np.iinfo(dtype.numpy).max:
            raise self.fail(f"{name}={bound!r} of {dtype}", f"a value of {dtype}", "insert a cast")

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        (x,) = arrays
        low, high = (self._bound(attributes.float(name), x.dtype) for name in ("min", "max"))
        return np.minimum(np.maximum(x, low), high)

    def _bound(self, bound: float, dtype: np.dtype[np.generic]) -> np.generic:
        if not math.isinf(bound) or DType.of_numpy(dtype).is_float:
            return dtype.type(int(bound) if DType.of_numpy(dtype).is_integer else bound)
        limits = np.iinfo(dtype)
        return dtype.type(limits.min if bound < 0 else limits.max)

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        low, high = attributes.float("min"), attributes.float("max")
        value = x if low == -math.inf else f"dlrmc_maximum({x}, {self._constant(low, dtype)})"
        return value if high == math.inf else f"dlrmc_minimum({value}, {self._constant(high, dtype)})"

    def _constant(self, bound: float, dtype: DType) -> str:
        if dtype.is_float:
            return literal(bound, dtype)
        number = int(self._bound(bound, dtype.numpy))
        # The lowest integer has no literal: its digits stand without the sign, out of range.
        digits = f"{number}" if abs(number) < 2**63 else f"{number + 1}LL - 1"
        return f"({COMPUTE_TYPES[dtype]})({digits}{'LL' if abs(number) < 2**63 else ''})"


class Cast(_Formula):
    """x in the dtype `to`, of any dtype and shape (aten._to_copy with a dtype).

    To an integer it truncates, to bool it is x != 0, from f64 and integers to f16 and bf16 it rounds through f32.
    A float outside of the range of i64 (of i32, to i32), or a NaN, gives an unspecified integer, as in torch.
    """

    name = "cast"
    aten = ("aten._to_copy.default", "prims.convert_element_type.default")
    attributes = (AttributeSpec("to", "dtype"),)
    accepts = "any"

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        return one(operands[0]).with_dtype(attributes.dtype("to"))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x, to = np.asarray(one(operands[0])), attributes.dtype("to")
        with np.errstate(all="ignore"):
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
    Relu(),
    Sigmoid(),
    Tanh(),
    Silu(),
    Gelu(),
    LeakyRelu(),
    Elu(),
    Neg(),
    Abs(),
    Exp(),
    Log(),
    Sqrt(),
    Rsqrt(),
    Reciprocal(),
    Erf(),
    Sin(),
    Cos(),
    Floor(),
    LogicalNot(),
    Clamp(),
    Cast(),
)
