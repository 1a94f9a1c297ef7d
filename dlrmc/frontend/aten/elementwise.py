"""Operators that work element by element, with torch's type promotion as casts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dlrmc.frontend.aten.promotion import binary, common_dtype
from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType

_UNARY = (
    ("relu", ("relu",)),
    ("sigmoid", ("sigmoid",)),
    ("tanh", ("tanh",)),
    ("silu", ("silu",)),
    ("neg", ("neg",)),
    ("abs", ("abs",)),
    ("exp", ("exp",)),
    ("log", ("log",)),
    ("sqrt", ("sqrt",)),
    ("rsqrt", ("rsqrt",)),
    ("reciprocal", ("reciprocal",)),
    ("erf", ("erf",)),
    ("sin", ("sin",)),
    ("cos", ("cos",)),
)
_COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")

Import = Callable[[Builder, Call], Node]


def unary(op: str) -> Import:
    """An op of one operand in the result's dtype (integers become floats where torch says so)."""

    def import_unary(builder: Builder, call: Call) -> Node:
        return builder.op(op, (builder.cast(call.tensor("self"), call.dtype),))

    return import_unary


def arithmetic(op: str) -> Import:
    """Arithmetic of two operands, cast to the result's dtype; `alpha` scales the second."""

    def import_arithmetic(builder: Builder, call: Call) -> Node:
        left, right = call["self"], call["exponent" if "exponent" in call.arguments else "other"]
        if call.get("alpha", 1) != 1:
            right = _scaled(builder, right, call["alpha"], call.dtype)
        return binary(builder, op, left, right, call.dtype)

    return import_arithmetic


def reverse_sub(builder: Builder, call: Call) -> Node:
    """`other - alpha * self`."""
    right = builder.cast(call.tensor("self"), call.dtype)
    if call.get("alpha", 1) != 1:
        right = _scaled(builder, right, call["alpha"], call.dtype)
    return binary(builder, "sub", call["other"], right, call.dtype)


def _scaled(builder: Builder, value: Any, alpha: Any, dtype: DType) -> Any:
    if not isinstance(value, Node):
        return value * alpha
    return builder.inner("mul", builder.cast(value, dtype), builder.scalar(alpha, dtype))


def rounded_division(builder: Builder, call: Call) -> Node:
    """Division with a rounding mode; only None, true division, has an op."""
    if call["rounding_mode"] is not None:
        raise Refused(f"division with rounding_mode={call['rounding_mode']!r} is not supported yet")
    return binary(builder, "div", call["self"], call["other"], call.dtype)


def compare(op: str) -> Import:
    """A comparison in the dtype that both operands promote to; the result is bool."""

    def import_compare(builder: Builder, call: Call) -> Node:
        dtype = common_dtype(call, "self", "other")
        return builder.op(op, (builder.operand(call["self"], dtype), builder.operand(call["other"], dtype)))

    return import_compare


def logical(op: str) -> Import:
    """A connective of anything: nonzero is true."""

    def import_logical(builder: Builder, call: Call) -> Node:
        return builder.op(op, (truth(builder, call["self"]), truth(builder, call["other"])))

    return import_logical


def bitwise(op: str) -> Import:
    """Bitwise ops on bool, which are logical ones."""

    def import_bitwise(builder: Builder, call: Call) -> Node:
        if call.dtype is not DType.BOOL:
            raise Refused("bitwise operations on integers are not supported")
        operands = [truth(builder, call[n]) for n in ("self", "other") if n in call.arguments]
        return builder.op(op, tuple(operands))

    return import_bitwise


def truth(builder: Builder, value: Any) -> Node:
    """The value as bool: whether it is nonzero."""
    return builder.operand(value, DType.BOOL)


def logical_not(builder: Builder, call: Call) -> Node:
    """Negation of anything: zero is true."""
    return builder.op("logical_not", (truth(builder, call["self"]),))


def floor(builder: Builder, call: Call) -> Node:
    """The largest integer not above; of integers, the value itself."""
    value = call.tensor("self")
    return builder.op("floor", (value,)) if value.type.dtype.is_float else value


def where(builder: Builder, call: Call) -> Node:
    """`self` where the condition holds, else `other`, in the result's dtype."""
    branches = (builder.operand(call["self"], call.dtype), builder.operand(call["other"], call.dtype))
    return builder.op("where", (truth(builder, call["condition"]), *branches))


def masked_fill(builder: Builder, call: Call) -> Node:
    """`value` where the mask holds, else `self`."""
    filled = builder.operand(call["value"], call.dtype)
    return builder.op("where", (truth(builder, call["mask"]), filled, call.tensor("self")))


def gelu(builder: Builder, call: Call) -> Node:
    """`gelu`, exact or by tanh."""
    return builder.op("gelu", (call.tensor("self"),), {"approximate": call["approximate"]})


def leaky_relu(builder: Builder, call: Call) -> Node:
    """`leaky_relu` with its negative slope."""
    return builder.op("leaky_relu", (call.tensor("self"),), {"slope": float(call["negative_slope"])})


def elu(builder: Builder, call: Call) -> Node:
    """The exponential linear unit, scaled; selu is one."""
    scale, input_scale = call["scale"], call["input_scale"]
    value = call.tensor("self")
    if input_scale != 1:
        raise Refused(f"elu with input_scale={input_scale}")
    if scale == 1:
        return builder.op("elu", (value,), {"alpha": float(call["alpha"])})
    return binary(builder, "mul", builder.inner("elu", value, alpha=float(call["alpha"])), scale, call.dtype)


def clamp(builder: Builder, call: Call) -> Node:
    """Limits by numbers, either of which may be absent or infinite; NaN stays."""
    low = call.get("min", call.get("min_val", -np.inf))
    high = call.get("max", call.get("max_val", np.inf))
    value = builder.cast(call.tensor("self"), call.dtype)
    if (low, high) == (-np.inf, np.inf):
        return value
    return builder.op("clamp", (value,), {"min": float(low), "max": float(high)})


def clamp_tensor(builder: Builder, call: Call) -> Node:
    """Limits by tensors."""
    value = builder.cast(call.tensor("self"), call.dtype)
    for name, op in (("min", "maximum"), ("max", "minimum")):
        if call.get(name) is not None:
            value = builder.op(op, (value, builder.operand(call[name], call.dtype)))
    return value


def cast(builder: Builder, call: Call) -> Node:
    """A cast: device, layout and memory format do not count."""
    value = call.tensor("self")
    if value.type.dtype is call.dtype:
        return value
    return builder.op("cast", (value,), {"to": call.dtype})


def _targets(op: str, *overloads: str) -> tuple[str, ...]:
    return tuple(f"aten.{op}.{overload}" for overload in overloads)


_BINARY = ("Tensor", "Scalar")

IMPORTERS = (
    *((tuple(f"aten.{name}.default" for name in names), unary(op)) for op, names in _UNARY),
    *((_targets(op, *_BINARY), arithmetic(op)) for op in ("add", "sub", "mul", "div")),
    (_targets("pow", "Tensor_Tensor", "Tensor_Scalar", "Scalar"), arithmetic("pow")),
    (_targets("div", "Tensor_mode", "Scalar_mode"), rounded_division),
    (_targets("rsub", *_BINARY), reverse_sub),
    (("aten.maximum.default", "aten.max.other"), arithmetic("maximum")),
    (("aten.minimum.default", "aten.min.other"), arithmetic("minimum")),
    *((_targets(op, *_BINARY), compare(op)) for op in _COMPARE),
    (("aten.logical_and.default",), logical("logical_and")),
    (("aten.logical_or.default",), logical("logical_or")),
    (("aten.logical_xor.default",), logical("ne")),
    (("aten.logical_not.default",), logical_not),
    (_targets("bitwise_and", *_BINARY), bitwise("logical_and")),
    (_targets("bitwise_or", *_BINARY), bitwise("logical_or")),
    (("aten.bitwise_not.default",), bitwise("logical_not")),
    (("aten.floor.default",), floor),
    (_targets("where", "self", "ScalarOther", "ScalarSelf", "Scalar"), where),
    (_targets("masked_fill", "Scalar", "Tensor"), masked_fill),
    (("aten.gelu.default",), gelu),
    (("aten.leaky_relu.default",), leaky_relu),
    (("aten.elu.default",), elu),
    (
        ("aten.clamp.default", "aten.clamp_min.default", "aten.clamp_max.default", "aten.hardtanh.default"),
        clamp,
    ),
    (("aten.clamp.Tensor", "aten.clamp_min.Tensor", "aten.clamp_max.Tensor"), clamp_tensor),
    (("aten._to_copy.default", "aten.to.dtype"), cast),
)
