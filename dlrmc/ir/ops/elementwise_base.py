"""What the elementwise cards share: type rule, compute type and rounding.

f16 and bf16 are computed in float32 and rounded once: by the reference here, and by a kernel's emitter,
which rounds the value of the CUDA expression to the result's dtype.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, Elementwise, Operands, OperandSpec, one
from dlrmc.ir.ops.activations import library
from dlrmc.ir.ops.numeric import quiet, rounded, widened
from dlrmc.ir.ops.rules import broadcast, require_float, require_integer, require_number, require_same_dtype
from dlrmc.ir.types import DType, TensorType

# The C type that holds one element while a kernel computes with it.
COMPUTE_TYPES: Mapping[DType, str] = MappingProxyType(
    {
        DType.F64: "double",
        DType.F32: "float",
        DType.F16: "float",
        DType.BF16: "float",
        DType.I64: "long long",
        DType.I32: "int",
        DType.U8: "unsigned char",
        DType.I8: "signed char",
        DType.BOOL: "bool",
    }
)


def atom(expression: str) -> str:
    """The expression, in parentheses where an operator beside it could bind to a part of it."""
    return expression if re.fullmatch(r"\w+", expression) else f"({expression})"


class Pointwise(Elementwise):
    """An elementwise op of equal dtypes; the result has that dtype, or is bool where `gives_bool` holds.

    `accepts` is "float", "integer" (no bool), "number" (either) or "any".
    """

    accepts: ClassVar[str] = "float"
    gives_bool: ClassVar[bool] = False

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        types = tuple(one(operand) for operand in operands)
        for spec, type in zip(self.operands, types, strict=True):
            self._check_dtype(spec.name, type)
        dtype = require_same_dtype(self, types)
        return TensorType(DType.BOOL if self.gives_bool else dtype, broadcast(self, types))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        arrays = tuple(one(operand) for operand in operands)
        dtype = DType.BOOL if self.gives_bool else DType.of_numpy(arrays[0].dtype)
        with quiet():
            return rounded(self.compute(tuple(widened(array) for array in arrays), attributes), dtype)

    def _check_dtype(self, name: str, type: TensorType) -> None:
        if self.accepts == "float":
            require_float(self, name, type)
        if self.accepts == "integer":
            require_integer(self, name, type)
        if self.accepts == "number":
            require_number(self, name, type)

    @abstractmethod
    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        """The value, of operands in their compute types."""


class Unary(Pointwise):
    """An elementwise op of one operand."""

    operands = (OperandSpec("x"),)


class Formula(Unary):
    """A function that the card writes out itself."""

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return self.expression(atom(arguments[0]), dtypes[0], attributes)

    @abstractmethod
    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        """The CUDA expression; x binds tighter than any operator."""


class Library(Unary):
    """A function of the C math library and of NumPy."""

    function: ClassVar[np.ufunc]
    c_name: ClassVar[str]

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return self.function(arrays[0])

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return f"{library(self.c_name, dtypes[0])}({arguments[0]})"


class Rounding(Library):
    """A function from floats to integers; integers stay as they are."""

    accepts = "number"

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        (x,) = arrays
        return self.function(x) if DType.of_numpy(x.dtype).is_float else x

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return super().cuda(arguments, dtypes, attributes) if dtypes[0].is_float else arguments[0]


class Binary(Pointwise):
    """An elementwise op of two operands of equal dtype, broadcast together."""

    operands = (OperandSpec("a"), OperandSpec("b"))


class Call(Binary):
    """A device function `dlrmc_<op>` with overloads for every compute type."""

    function: ClassVar[np.ufunc]

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return self.function(*arrays)

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return f"dlrmc_{self.name}({arguments[0]}, {arguments[1]})"
