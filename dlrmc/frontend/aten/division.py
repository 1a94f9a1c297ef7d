"""Divisions with a rounding mode, and their remainders."""

from __future__ import annotations

from collections.abc import Mapping

from dlrmc.frontend.aten.promotion import binary
from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType

_MODES: Mapping[str | None, str] = {None: "div", "floor": "floor_div", "trunc": "trunc_div"}


def division(builder: Builder, call: Call) -> Node:
    """`div` with a rounding mode: none, floor or trunc."""
    return _divided(builder, call, _MODES[call["rounding_mode"]])


def floor_divide(builder: Builder, call: Call) -> Node:
    """`floor_divide`, which rounds down."""
    return _divided(builder, call, "floor_div")


def remainder(builder: Builder, call: Call) -> Node:
    """The rest of a division that rounds down; it has the divisor's sign."""
    return _divided(builder, call, "remainder")


def fmod(builder: Builder, call: Call) -> Node:
    """The rest of a division that rounds towards 0; it has the dividend's sign."""
    return _divided(builder, call, "fmod")


def _divided(builder: Builder, call: Call, op: str) -> Node:
    dividend, divisor = call["self"], call["other"]
    if call.dtype is DType.BOOL:
        raise Refused(f"{op} of bool")
    if not call.dtype.is_float and not isinstance(divisor, Node) and divisor == 0:
        raise Refused("an integer divided by 0")
    return binary(builder, op, dividend, divisor, call.dtype)


_OVERLOADS = ("Tensor", "Scalar", "Scalar_Tensor")

IMPORTERS = (
    (("aten.div.Tensor_mode", "aten.div.Scalar_mode"), division),
    (("aten.floor_divide.default", "aten.floor_divide.Scalar"), floor_divide),
    (tuple(f"aten.remainder.{name}" for name in _OVERLOADS), remainder),
    (("aten.fmod.Tensor", "aten.fmod.Scalar"), fmod),
)
