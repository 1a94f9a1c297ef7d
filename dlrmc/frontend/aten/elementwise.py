"""Operators that work element by element, with torch's type promotion as casts."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from dlrmc.frontend.aten.promotion import binary, common_dtype
from dlrmc.frontend.builder import Builder, fits_exactly
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
    *(
        (name, (name,))
        for name in (
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"),
            *("log1p", "expm1", "log2", "log10"),
        )
    ),
)
_ROUNDING = ("floor", "ceil", "trunc", "round")
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


# Powers that torch computes otherwise than by `pow`; they differ from it at -inf and -0.0.
_ROOTS = MappingProxyType({0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"})


def power(builder: Builder, call: Call) -> Node:
    """`pow`; by a number that stands for a root or a reciprocal, that."""
    base, exponent = call["self"], call["exponent"]
    root = None if isinstance(exponent, Node) else _ROOTS.get(exponent)
    if root is None or not call.dtype.is_float:
        return arithmetic("pow")(builder, call)
    return builder.op(root, (builder.cast(base, call.dtype),))


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


def truth(builder: Builder, value: Any) -> Node:
    """The value as bool: whether it is nonzero."""
    return builder.operand(value, DType.BOOL)


def logical_not(builder: Builder, call: Call) -> Node:
    """Negation of anything: zero is true."""
    return builder.op("logical_not", (truth(builder, call["self"]),))


def rounding(op: str) -> Import:
    """An integer beside a float; of integers, the value itself."""

    def import_rounding(builder: Builder, call: Call) -> Node:
        value = call.tensor("self")
        return builder.op(op, (value,)) if value.type.dtype.is_float else value

    return import_rounding


def round_decimals(builder: Builder, call: Call) -> Node:
    """`round.decimals`: the value times a power of ten, rounded, and divided by the power."""
    value, decimals = call.tensor("self"), call["decimals"]
    if not value.type.dtype.is_float:
        raise Refused("rounding integers to decimals")
    power = builder.scalar(10.0 ** abs(decimals), call.dtype)
    scaled = builder.inner("mul" if decimals >= 0 else "div", value, power)
    return builder.op("div" if decimals >= 0 else "mul", (builder.inner("round", scaled), power))


def power_of_two(builder: Builder, call: Call) -> Node:
    """`exp2`: 2 to the power x."""
    value = builder.cast(call.tensor("self"), call.dtype)
    return binary(builder, "pow", 2, value, call.dtype)


def extreme_without_nan(op: str) -> Import:
    """`fmax` and `fmin`: of two values the one that is no NaN, else the larger or smaller."""

    def import_extreme(builder: Builder, call: Call) -> Node:
        first, second = (builder.operand(call[name], call.dtype) for name in ("self", "other"))
        extreme = builder.inner(op, first, second)
        others = builder.inner("where", builder.inner("ne", first, first), second, extreme)
        return builder.op("where", (builder.inner("ne", second, second), first, others))

    return import_extreme


def sign(builder: Builder, call: Call) -> Node:
    """1, 0 or -1; 0 for a NaN."""
    value = call.tensor("self")
    if value.type.dtype is DType.BOOL:
        return value
    zero = builder.scalar(0, value.type.dtype)
    above, below = (builder.cast(builder.inner(op, value, zero), call.dtype) for op in ("gt", "lt"))
    return builder.op("sub", (above, below))


def is_nan(builder: Builder, call: Call) -> Node:
    """Whether the value differs from itself."""
    value = call.tensor("self")
    return builder.op("ne", (value, value))


def is_infinite(builder: Builder, call: Call) -> Node:
    """Whether the magnitude is infinite."""
    value = call.tensor("self")
    if not value.type.dtype.is_float:
        return builder.full(call.shape, False, DType.BOOL)
    infinity = builder.scalar(float("inf"), value.type.dtype)
    return builder.op("eq", (builder.inner("abs", value), infinity))


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
    if call.dtype.is_integer and not all(fits_exactly(bound, DType.F64) for bound in (low, high)):
        return clamp_tensor(builder, call)  # the attributes of the card are floats
    return builder.op("clamp", (value,), {"min": float(low), "max": float(high)})


def clamp_tensor(builder: Builder, call: Call) -> Node:
    """Limits by tensors, or by integers that no float holds."""
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
    (_targets("pow", "Tensor_Tensor", "Tensor_Scalar", "Scalar"), power),
    (_targets("rsub", *_BINARY), reverse_sub),
    (("aten.maximum.default", "aten.max.other"), arithmetic("maximum")),
    (("aten.minimum.default", "aten.min.other"), arithmetic("minimum")),
    *((_targets(op, *_BINARY), compare(op)) for op in _COMPARE),
    (("aten.logical_and.default",), logical("logical_and")),
    (("aten.logical_or.default",), logical("logical_or")),
    (("aten.logical_xor.default",), logical("ne")),
    (("aten.logical_not.default",), logical_not),
    *(((f"aten.{name}.default",), rounding(name)) for name in _ROUNDING),
    (("aten.round.decimals",), round_decimals),
    (("aten.sign.default", "aten.sgn.default"), sign),
    (("aten.isnan.default",), is_nan),
    (("aten.isinf.default",), is_infinite),
    (("aten.exp2.default",), power_of_two),
    (("aten.fmax.default",), extreme_without_nan("maximum")),
    (("aten.fmin.default",), extreme_without_nan("minimum")),
    (("aten.atan2.default",), arithmetic("atan2")),
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
    (("aten._to_copy.default", "aten.to.device", "aten.to.dtype", "aten.to.dtype_layout"), cast),
)
