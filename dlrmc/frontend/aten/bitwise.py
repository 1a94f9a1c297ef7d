"""Operators on bits: of integers bit by bit, of bool the logical ones."""

from __future__ import annotations

from collections.abc import Callable

from dlrmc.frontend.aten.promotion import binary
from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType

Import = Callable[[Builder, Call], Node]


def connective(of_bools: str, of_integers: str) -> Import:
    """`and`, `or` or `xor` of two operands in the dtype that both promote to."""

    def import_connective(builder: Builder, call: Call) -> Node:
        op = of_bools if call.dtype is DType.BOOL else of_integers
        return binary(builder, op, call["self"], call["other"], call.dtype)

    return import_connective


def negation(builder: Builder, call: Call) -> Node:
    """Every bit turned over: x ^ -1, which for unsigned bytes is x ^ 255."""
    value = call.tensor("self")
    if call.dtype is DType.BOOL:
        return builder.op("logical_not", (value,))
    all_ones = 255 if call.dtype is DType.U8 else -1
    return builder.op("bitwise_xor", (value, builder.scalar(all_ones, call.dtype)))


def shift(op: str) -> Import:
    """A shift by a tensor or a number of bits, in the result's dtype."""

    def import_shift(builder: Builder, call: Call) -> Node:
        return binary(builder, op, call["self"], call["other"], call.dtype)

    return import_shift


def _targets(operator: str, *functions: str) -> tuple[str, ...]:
    """Python's operator on a tensor or a number, and the function of each overload."""
    names = (f"__{operator}__.Tensor", f"__{operator}__.Scalar", *functions)
    return tuple(f"aten.{name}" for name in names)


def _bitwise(op: str, *overloads: str) -> tuple[str, ...]:
    return tuple(f"bitwise_{op}.{overload}" for overload in overloads)


_CONNECTIVE = ("Tensor", "Scalar", "Scalar_Tensor")
_SHIFT = ("Tensor", "Tensor_Scalar", "Scalar_Tensor")

IMPORTERS = (
    (_targets("and", *_bitwise("and", *_CONNECTIVE)), connective("logical_and", "bitwise_and")),
    (_targets("or", *_bitwise("or", *_CONNECTIVE)), connective("logical_or", "bitwise_or")),
    (_targets("xor", *_bitwise("xor", *_CONNECTIVE)), connective("ne", "bitwise_xor")),
    (("aten.bitwise_not.default",), negation),
    (_targets("lshift", *_bitwise("left_shift", *_SHIFT)), shift("shift_left")),
    (_targets("rshift", *_bitwise("right_shift", *_SHIFT)), shift("shift_right")),
)
