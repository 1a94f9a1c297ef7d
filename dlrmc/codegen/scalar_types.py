"""How each dtype is stored and computed with in CUDA, and how its values are written as literals."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np

from dlrmc.ir.op import Array
from dlrmc.ir.types import DType

# The type of one element in memory. A bool is a byte, 0 or 1; f16 and bf16 are structs of scalars.cuh.
STORAGE_TYPES = MappingProxyType(
    {
        DType.F64: "double",
        DType.F32: "float",
        DType.F16: "f16",
        DType.BF16: "bf16",
        DType.I64: "long long",
        DType.I32: "int",
        DType.U8: "unsigned char",
        DType.I8: "signed char",
        DType.BOOL: "unsigned char",
    }
)

# The type of one element in an expression.
COMPUTE_TYPES = MappingProxyType(
    {**STORAGE_TYPES, DType.F16: "float", DType.BF16: "float", DType.BOOL: "bool"}
)

HALF_TYPES = (DType.F16, DType.BF16)


def loaded(element: str, dtype: DType) -> str:
    """The compute value of a stored element such as `x[i]`."""
    if dtype in HALF_TYPES:
        return f"to_float({element})"
    return f"{element} != 0" if dtype is DType.BOOL else element


def stored(expression: str, dtype: DType) -> str:
    """The stored element of a compute value."""
    if dtype in HALF_TYPES:
        return f"from_float<{STORAGE_TYPES[dtype]}>({expression})"
    return f"({expression}) ? 1 : 0" if dtype is DType.BOOL else expression


def rounded(expression: str, dtype: DType) -> str:
    """The compute value after rounding to the dtype; only f16 and bf16 hold less than their compute type."""
    return f"round_to<{STORAGE_TYPES[dtype]}>({expression})" if dtype in HALF_TYPES else expression


def literal(value: Array, dtype: DType) -> str:
    """A C literal of the compute type with exactly the value of a rank-0 array of that dtype.

    Infinities and NaNs are calls of device functions of scalars.cuh; a NaN loses its payload.
    """
    if dtype is DType.BOOL:
        return "true" if bool(value) else "false"
    if dtype.is_integer:
        return integer_literal(int(value), dtype)
    return _float_literal(float(value), dtype)


def integer_literal(value: int, dtype: DType) -> str:
    """A C literal of an integer; the least of i64 and i32 have no literal of their own type."""
    suffix = "ll" if dtype is DType.I64 else ""
    if value in (-(2**63), -(2**31)):
        return f"({value + 1}{suffix} - 1)"
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


def _float_literal(value: float, dtype: DType) -> str:
    compute_type = COMPUTE_TYPES[dtype]
    if math.isnan(value):
        return f"not_a_number<{compute_type}>()"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}infinity<{compute_type}>()"
    if dtype is DType.F64:
        digits, suffix = repr(value), ""
    else:
        digits, suffix = str(np.float32(value)), "f"
    digits = digits if any(mark in digits for mark in ".e") else f"{digits}.0"
    return f"({digits}{suffix})" if digits.startswith("-") else f"{digits}{suffix}"


def stored_literal(value: Array, dtype: DType) -> str:
    """A constant initialiser of one finite stored element."""
    if dtype in HALF_TYPES:
        return f"{STORAGE_TYPES[dtype]}{{{hex(int(np.asarray(value).view(np.uint16)))}}}"
    if dtype is DType.BOOL:
        return "1" if bool(value) else "0"
    return literal(value, dtype)


def bits_literal(value: Array, dtype: DType) -> str:
    """A constant initialiser of the bits of one f32 or f64."""
    unsigned = np.uint32 if dtype is DType.F32 else np.uint64
    return hex(int(np.asarray(value).view(unsigned)))
