"""Divisions with a rounding mode, and their remainders.

An integer divided by 0 gives 0, where eager PyTorch raises: a kernel must not trap.
"""

from __future__ import annotations

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, Op
from dlrmc.ir.ops.elementwise_base import Call
from dlrmc.ir.types import DType


class _Division(Call):
    accepts = "number"

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        a, b = arrays
        return self.of_floats(a, b) if DType.of_numpy(a.dtype).is_float else self.of_integers(a, b)

    def of_floats(self, a: Array, b: Array) -> Array:
        """The value for floats."""
        return self.function(a, b)

    def of_integers(self, a: Array, b: Array) -> Array:
        """The value for integers; NumPy too gives 0 for a divisor of 0."""
        return self.function(a, b)


class Remainder(_Division):
    """a - b * floor(a / b) of equal number dtypes, broadcast: it has the sign of b (aten.remainder)."""

    name = "remainder"
    aten = ("aten.remainder.Tensor",)
    function = np.remainder

    def of_floats(self, a: Array, b: Array) -> Array:
        rest = np.fmod(a, b)
        return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


class Fmod(_Division):
    """a - b * trunc(a / b) of equal number dtypes, broadcast: it has the sign of a (aten.fmod)."""

    name = "fmod"
    aten = ("aten.fmod.Tensor",)
    function = np.fmod


class FloorDiv(_Division):
    """floor(a / b) of equal number dtypes, broadcast; of floats by the remainder (aten.floor_divide)."""

    name = "floor_div"
    aten = ("aten.div.Tensor_mode",)
    function = np.floor_divide

    def of_floats(self, a: Array, b: Array) -> Array:
        rest = np.fmod(a, b)
        quotient = (a - rest) / b
        quotient = np.where((rest != 0) & ((b < 0) != (rest < 0)), quotient - 1, quotient)
        whole = np.floor(quotient)
        whole = np.where(quotient - whole > 0.5, whole + 1, whole)
        whole = np.where(quotient != 0, whole, np.copysign(a.dtype.type(0), a / b))
        return np.where(b == 0, a / b, whole)


class TruncDiv(_Division):
    """trunc(a / b) of equal number dtypes, broadcast (aten.div with rounding_mode trunc)."""

    name = "trunc_div"
    aten = ("aten.div.Tensor_mode",)
    function = np.floor_divide

    def of_floats(self, a: Array, b: Array) -> Array:
        return np.trunc(a / b)

    def of_integers(self, a: Array, b: Array) -> Array:
        down = np.floor_divide(a, b)
        is_below = (b != 0) & (np.fmod(a, b) != 0) & ((a < 0) != (b < 0))
        return down + is_below.astype(a.dtype)


OPS: tuple[Op, ...] = (
    Remainder(),
    Fmod(),
    FloorDiv(),
    TruncDiv(),
)
