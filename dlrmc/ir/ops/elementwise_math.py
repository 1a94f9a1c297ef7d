"""Further functions of the C math library."""

from __future__ import annotations

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, Op, Operands, one
from dlrmc.ir.ops.elementwise_base import Call, Formula, Library, Rounding
from dlrmc.ir.types import DType, TensorType


class Log1p(Library):
    """The natural logarithm of 1 + x, exact near 0, of a float of any shape (aten.log1p)."""

    name = "log1p"
    aten = ("aten.log1p.default",)
    function = np.log1p
    c_name = "log1p"


class Expm1(Library):
    """e to the power x, less 1, exact near 0, of a float of any shape (aten.expm1)."""

    name = "expm1"
    aten = ("aten.expm1.default",)
    function = np.expm1
    c_name = "expm1"


class Log2(Library):
    """The logarithm to base 2 of a float of any shape (aten.log2)."""

    name = "log2"
    aten = ("aten.log2.default",)
    function = np.log2
    c_name = "log2"


class Log10(Library):
    """The logarithm to base 10 of a float of any shape (aten.log10)."""

    name = "log10"
    aten = ("aten.log10.default",)
    function = np.log10
    c_name = "log10"


class Tan(Library):
    """The tangent of a float of any shape (aten.tan)."""

    name = "tan"
    aten = ("aten.tan.default",)
    function = np.tan
    c_name = "tan"


class Asin(Library):
    """The angle whose sine is x, of a float of any shape (aten.asin)."""

    name = "asin"
    aten = ("aten.asin.default",)
    function = np.arcsin
    c_name = "asin"


class Acos(Library):
    """The angle whose cosine is x, of a float of any shape (aten.acos)."""

    name = "acos"
    aten = ("aten.acos.default",)
    function = np.arccos
    c_name = "acos"


class Atan(Library):
    """The angle whose tangent is x, of a float of any shape (aten.atan)."""

    name = "atan"
    aten = ("aten.atan.default",)
    function = np.arctan
    c_name = "atan"


class Sinh(Library):
    """The hyperbolic sine of a float of any shape (aten.sinh)."""

    name = "sinh"
    aten = ("aten.sinh.default",)
    function = np.sinh
    c_name = "sinh"


class Cosh(Library):
    """The hyperbolic cosine of a float of any shape (aten.cosh)."""

    name = "cosh"
    aten = ("aten.cosh.default",)
    function = np.cosh
    c_name = "cosh"


class Asinh(Library):
    """The inverse hyperbolic sine of a float of any shape (aten.asinh)."""

    name = "asinh"
    aten = ("aten.asinh.default",)
    function = np.arcsinh
    c_name = "asinh"


class Acosh(Library):
    """The inverse hyperbolic cosine of a float of any shape (aten.acosh)."""

    name = "acosh"
    aten = ("aten.acosh.default",)
    function = np.arccosh
    c_name = "acosh"


class Atanh(Library):
    """The inverse hyperbolic tangent of a float of any shape (aten.atanh)."""

    name = "atanh"
    aten = ("aten.atanh.default",)
    function = np.arctanh
    c_name = "atanh"


class Floor(Rounding):
    """The largest integer not above x, of a number of any shape; integers stay (aten.floor)."""

    name = "floor"
    aten = ("aten.floor.default",)
    function = np.floor
    c_name = "floor"


class Ceil(Rounding):
    """The smallest integer not below x, of a number of any shape; integers stay (aten.ceil)."""

    name = "ceil"
    aten = ("aten.ceil.default",)
    function = np.ceil
    c_name = "ceil"


class Trunc(Rounding):
    """The integer next to x towards 0, of a number of any shape; integers stay (aten.trunc)."""

    name = "trunc"
    aten = ("aten.trunc.default",)
    function = np.trunc
    c_name = "trunc"


class Round(Rounding):
    """The integer nearest to x, the even one of two, of a number of any shape; integers stay (aten.round)."""

    name = "round"
    aten = ("aten.round.default",)
    function = np.rint
    c_name = "rint"


class RoundTf32(Formula):
    """The TF32 number nearest to x, the even one of two, of f32 of any shape: 11 significant bits.

    What is not finite, or would be rounded to an infinity, stays as it is.
    """

    name = "round_tf32"

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        dtype = one(operands[0]).dtype
        if dtype is not DType.F32:
            raise self.fail(f"x of {dtype}", "f32")
        return super().infer(operands, attributes)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        (x,) = arrays
        bits = np.ascontiguousarray(x).view(np.uint32)
        nearest = (bits + (0xFFF + (bits >> 13 & 1))) & 0xFFFFE000
        is_near = bits & 0x7FFFFFFF < 0x7F7FF000
        return np.where(is_near, nearest, bits).astype(np.uint32).view(np.float32).reshape(x.shape)

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"dlrmc_round_tf32({x})"


class Atan2(Call):
    """The angle of the point (b, a), of equal float dtypes, broadcast (aten.atan2)."""

    name = "atan2"
    aten = ("aten.atan2.default",)
    function = np.arctan2


OPS: tuple[Op, ...] = (
    Log1p(),
    Expm1(),
    Log2(),
    Log10(),
    Tan(),
    Asin(),
    Acos(),
    Atan(),
    Sinh(),
    Cosh(),
    Asinh(),
    Acosh(),
    Atanh(),
    Floor(),
    Ceil(),
    Trunc(),
    Round(),
    RoundTf32(),
    Atan2(),
)
