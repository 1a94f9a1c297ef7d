"""Arithmetic and functions of one operand."""

from __future__ import annotations

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, Op
from dlrmc.ir.ops.activations import erf, library, literal
from dlrmc.ir.ops.elementwise_base import COMPUTE_TYPES, Formula, Library
from dlrmc.ir.types import DType


class Neg(Formula):
    """-x of a number of any shape; integers wrap (aten.neg)."""

    name = "neg"
    aten = ("aten.neg.default",)
    accepts = "number"

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return np.negative(arrays[0])

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"(-{x})" if dtype.is_float else f"dlrmc_sub(({COMPUTE_TYPES[dtype]})0, {x})"


class Abs(Formula):
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


class Exp(Library):
    """e to the power x, of a float of any shape (aten.exp)."""

    name = "exp"
    aten = ("aten.exp.default",)
    function = np.exp
    c_name = "exp"


class Log(Library):
    """The natural logarithm of a float of any shape (aten.log)."""

    name = "log"
    aten = ("aten.log.default",)
    function = np.log
    c_name = "log"


class Sqrt(Library):
    """The square root of a float of any shape (aten.sqrt)."""

    name = "sqrt"
    aten = ("aten.sqrt.default",)
    function = np.sqrt
    c_name = "sqrt"


class Sin(Library):
    """The sine of a float of any shape (aten.sin)."""

    name = "sin"
    aten = ("aten.sin.default",)
    function = np.sin
    c_name = "sin"


class Cos(Library):
    """The cosine of a float of any shape (aten.cos)."""

    name = "cos"
    aten = ("aten.cos.default",)
    function = np.cos
    c_name = "cos"


class Rsqrt(Formula):
    """1 / sqrt(x) of a float of any shape (aten.rsqrt)."""

    name = "rsqrt"
    aten = ("aten.rsqrt.default",)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return 1.0 / np.sqrt(arrays[0])

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"({literal(1.0, dtype)} / {library('sqrt', dtype)}({x}))"


class Reciprocal(Formula):
    """1 / x of a float of any shape (aten.reciprocal)."""

    name = "reciprocal"
    aten = ("aten.reciprocal.default",)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return 1.0 / arrays[0]

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"({literal(1.0, dtype)} / {x})"


class Erf(Formula):
    """The error function of a float of any shape (aten.erf)."""

    name = "erf"
    aten = ("aten.erf.default",)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return erf(arrays[0])

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"{library('erf', dtype)}({x})"


class LogicalNot(Formula):
    """Whether x is zero or false, as bool, of any dtype and shape (aten.logical_not)."""

    name = "logical_not"
    aten = ("aten.logical_not.default",)
    accepts = "any"
    gives_bool = True

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return np.logical_not(arrays[0])

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"({x} == 0)"


OPS: tuple[Op, ...] = (
    Neg(),
    Abs(),
    Exp(),
    Log(),
    Sqrt(),
    Sin(),
    Cos(),
    Rsqrt(),
    Reciprocal(),
    Erf(),
    LogicalNot(),
)
