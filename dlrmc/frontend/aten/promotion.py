"""Type promotion made explicit: casts to the dtype that torch computes in."""

from __future__ import annotations

from typing import Any

import torch

from dlrmc.frontend.builder import Builder, fits_exactly
from dlrmc.frontend.call import Call
from dlrmc.frontend.dtypes import dtype_of_torch, torch_of_dtype
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


def common_dtype(call: Call, first: str, second: str) -> DType:
    """The dtype that torch promotes two arguments to; a Python number does not widen its category."""
    return dtype_of_torch(torch.result_type(_traced(call, first), _traced(call, second)))


def binary(builder: Builder, op: str, left: Any, right: Any, dtype: DType) -> Node:
    """`op` on two operands in `dtype`.

    For f16 and bf16 torch computes with a Python number in f32, so a number that the 16-bit type cannot
    hold exactly is applied in f32.
    """
    numbers = [value for value in (left, right) if not isinstance(value, Node)]
    if dtype in (DType.F16, DType.BF16) and not all(fits_exactly(number, dtype) for number in numbers):
        wide = builder.inner(op, builder.operand(left, DType.F32), builder.operand(right, DType.F32))
        return builder.op("cast", (wide,), {"to": dtype})
    return builder.op(op, (builder.operand(left, dtype), builder.operand(right, dtype)))


def _traced(call: Call, name: str) -> Any:
    """The argument as torch.result_type takes it: a tensor that holds nothing, or a Python number."""
    value = call.arguments[name]
    if not isinstance(value, Node):
        return value
    # A scalar tensor promotes like a number, so the rank counts; the sizes do not.
    return torch.empty((0,) * value.type.rank, dtype=torch_of_dtype(value.type.dtype), device="meta")
