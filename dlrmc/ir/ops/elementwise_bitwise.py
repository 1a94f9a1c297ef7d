"""The bits of integers: ids that are hashed, packed or taken apart in the graph."""

from __future__ import annotations

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, Op
from dlrmc.ir.ops.elementwise_base import Call


class _Bitwise(Call):
    accepts = "integer"


class BitwiseAnd(_Bitwise):
    """The bits that a and b share, of equal integer dtypes, broadcast (aten.bitwise_and)."""

    name = "bitwise_and"
    aten = ("aten.bitwise_and.Tensor",)
    function = np.bitwise_and


class BitwiseOr(_Bitwise):
    """The bits of a and of b, of equal integer dtypes, broadcast (aten.bitwise_or)."""

    name = "bitwise_or"
    aten = ("aten.bitwise_or.Tensor",)
    function = np.bitwise_or


class BitwiseXor(_Bitwise):
    """The bits in which a and b differ, of equal integer dtypes, broadcast (aten.bitwise_xor)."""

    name = "bitwise_xor"
    aten = ("aten.bitwise_xor.Tensor",)
    function = np.bitwise_xor


class _Shift(_Bitwise):
    """A count below 0, or of the dtype's bits and more, shifts everything out, as in torch."""

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        value, count = arrays
        bits = value.dtype.itemsize * 8
        is_out = (count < 0) | (count >= bits)
        shifted = self.function(value, np.where(is_out, count.dtype.type(0), count))
        return np.where(is_out, self.all_out(value), shifted)

    def all_out(self, value: Array) -> Array:
        """What is left where every bit is shifted out."""
        return np.zeros_like(value)


class ShiftLeft(_Shift):
    """a * 2**b by shifting, of equal integer dtypes, broadcast; it wraps (aten.bitwise_left_shift)."""

    name = "shift_left"
    aten = ("aten.bitwise_left_shift.Tensor", "aten.__lshift__.Tensor")
    function = np.left_shift


class ShiftRight(_Shift):
    """floor(a / 2**b) by shifting, of equal integer dtypes, broadcast (aten.bitwise_right_shift)."""

    name = "shift_right"
    aten = ("aten.bitwise_right_shift.Tensor", "aten.__rshift__.Tensor")
    function = np.right_shift

    def all_out(self, value: Array) -> Array:
        """The sign alone: -1 below 0."""
        return np.negative((value < 0).astype(value.dtype))


OPS: tuple[Op, ...] = (
    BitwiseAnd(),
    BitwiseOr(),
    BitwiseXor(),
    ShiftLeft(),
    ShiftRight(),
)
