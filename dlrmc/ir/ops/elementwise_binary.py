"""Elementwise ops of two operands, and `where`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, Elementwise, Op, Operands, OperandSpec, one
from dlrmc.ir.ops.elementwise_base import Binary, Call, atom
from dlrmc.ir.ops.rules import broadcast, require_same_dtype
from dlrmc.ir.types import DType, TensorType


class _Arithmetic(Binary):
    """An operator: of C for floats, a device function that wraps for integers, of logic for bool."""

    accepts = "number"
    function: ClassVar[np.ufunc]
    operator: ClassVar[str]
    logic: ClassVar[str] = ""

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return self.function(*arrays)

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        if dtypes[0].is_integer:
            return f"dlrmc_{self.name}({arguments[0]}, {arguments[1]})"
        operator = self.operator if dtypes[0].is_float else self.logic
        return f"({atom(arguments[0])} {operator} {atom(arguments[1])})"


class _Comparison(Binary):
    """A comparison, which gives bool."""

    accepts = "any"
    gives_bool = True
    function: ClassVar[np.ufunc]
    operator: ClassVar[str]

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return self.function(*arrays)

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return f"({atom(arguments[0])} {self.operator} {atom(arguments[1])})"


class _Logical(_Comparison):
    """A connective of truth values; a number is true where it is not zero."""

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        a, b = (atom(x) if dtypes[0] is DType.BOOL else f"({atom(x)} != 0)" for x in arguments)
        return f"({a} {self.operator} {b})"


class Add(_Arithmetic):
    """a + b of equal dtypes, broadcast; integers wrap, bool is or (aten.add with alpha 1)."""

    name = "add"
    aten = ("aten.add.Tensor",)
    accepts = "any"
    function = np.add
    operator = "+"
    logic = "||"


class Sub(_Arithmetic):
    """a - b of equal dtypes, broadcast; integers wrap (aten.sub with alpha 1)."""

    name = "sub"
    aten = ("aten.sub.Tensor",)
    function = np.subtract
    operator = "-"


class Mul(_Arithmetic):
    """a * b of equal dtypes, broadcast; integers wrap, bool is and (aten.mul)."""

    name = "mul"
    aten = ("aten.mul.Tensor",)
    accepts = "any"
    function = np.multiply
    operator = "*"
    logic = "&&"


class Div(_Arithmetic):
    """a / b of equal float dtypes, broadcast: true division (aten.div without a rounding mode)."""

    name = "div"
    aten = ("aten.div.Tensor",)
    accepts = "float"
    function = np.divide
    operator = "/"


class Pow(Call):
    """a to the power b of equal dtypes, broadcast (aten.pow).

    Of integers it wraps; a negative power is 0, but for the bases 1 and -1.
    """

    name = "pow"
    aten = ("aten.pow.Tensor_Tensor",)
    accepts = "number"
    function = np.power

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        base, exponent = arrays
        if DType.of_numpy(base.dtype).is_float:
            return _float_power(base, exponent)
        odd = np.where(exponent % 2 == 0, base * base, base)
        of_unit = np.where((base == 1) | (base == np.negative(base.dtype.type(1))), odd, base.dtype.type(0))
        return np.where(exponent < 0, of_unit, np.power(base, np.maximum(exponent, base.dtype.type(0))))


def _float_power(base: Array, exponent: Array) -> Array:
    """An exponent for each element: where all share one, NumPy takes roots, which differ at -inf and -0.0."""
    shape = np.broadcast_shapes(base.shape, exponent.shape)
    each = np.full(shape or (1,), exponent)
    return np.power(base, each).reshape(shape)


class Maximum(Call):
    """The larger of a and b of equal dtypes, broadcast; NaN where one of them is NaN (aten.maximum)."""

    name = "maximum"
    aten = ("aten.maximum.default",)
    accepts = "any"
    function = np.maximum


class Minimum(Call):
    """The smaller of a and b of equal dtypes, broadcast; NaN where one of them is NaN (aten.minimum)."""

    name = "minimum"
    aten = ("aten.minimum.default",)
    accepts = "any"
    function = np.minimum


class Eq(_Comparison):
    """a == b of equal dtypes, broadcast, as bool (aten.eq)."""

    name = "eq"
    aten = ("aten.eq.Tensor",)
    function = np.equal
    operator = "=="


class Ne(_Comparison):
    """a != b of equal dtypes, broadcast, as bool (aten.ne)."""

    name = "ne"
    aten = ("aten.ne.Tensor",)
    function = np.not_equal
    operator = "!="


class Lt(_Comparison):
    """a < b of equal dtypes, broadcast, as bool (aten.lt)."""

    name = "lt"
    aten = ("aten.lt.Tensor",)
    function = np.less
    operator = "<"


class Le(_Comparison):
    """a <= b of equal dtypes, broadcast, as bool (aten.le)."""

    name = "le"
    aten = ("aten.le.Tensor",)
    function = np.less_equal
    operator = "<="


class Gt(_Comparison):
    """a > b of equal dtypes, broadcast, as bool (aten.gt)."""

    name = "gt"
    aten = ("aten.gt.Tensor",)
    function = np.greater
    operator = ">"


class Ge(_Comparison):
    """a >= b of equal dtypes, broadcast, as bool (aten.ge)."""

    name = "ge"
    aten = ("aten.ge.Tensor",)
    function = np.greater_equal
    operator = ">="


class LogicalAnd(_Logical):
    """Whether a and b are both true (not zero), of equal dtypes, broadcast, as bool (aten.logical_and)."""

    name = "logical_and"
    aten = ("aten.logical_and.default",)
    function = np.logical_and
    operator = "&&"


class LogicalOr(_Logical):
    """Whether a or b is true (not zero), of equal dtypes, broadcast, as bool (aten.logical_or)."""

    name = "logical_or"
    aten = ("aten.logical_or.default",)
    function = np.logical_or
    operator = "||"


class Where(Elementwise):
    """a where cond (bool) is true, else b, of equal dtypes; all three broadcast (aten.where)."""

    name = "where"
    aten = ("aten.where.self",)
    operands = (OperandSpec("cond"), OperandSpec("a"), OperandSpec("b"))

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        condition, a, b = (one(operand) for operand in operands)
        if condition.dtype is not DType.BOOL:
            raise self.fail(f"cond is {condition}", "dtype bool", "insert a cast")
        dtype = require_same_dtype(self, (a, b))
        return TensorType(dtype, broadcast(self, (condition, a, b)))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        condition, a, b = (one(operand) for operand in operands)
        return np.where(condition, a, b)

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        condition, a, b = (atom(argument) for argument in arguments)
        return f"({condition} ? {a} : {b})"


OPS: tuple[Op, ...] = (
    Add(),
    Sub(),
    Mul(),
    Div(),
    Pow(),
    Maximum(),
    Minimum(),
    Eq(),
    Ne(),
    Lt(),
    Le(),
    Gt(),
    Ge(),
    LogicalAnd(),
    LogicalOr(),
    Where(),
)
