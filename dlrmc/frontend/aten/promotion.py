"""Type promotion made explicit: casts to the dtype that torch computes in."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from dlrmc.frontend.builder import Builder, fits_exactly
from dlrmc.frontend.call import Call
from dlrmc.frontend.dtypes import dtype_of_torch
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


def common_dtype(call: Call, names: tuple[str, ...]) -> DType:
    """The dtype that torch promotes the named arguments to; a Python number does not widen its category."""
    by_name = _fx_arguments(call)
    values = [by_name[name] for name in names if by_name.get(name) is not None]
    result = (
        values[0].dtype if isinstance(values[0], torch.Tensor) else torch.result_type(values[0], values[-1])
    )
    for value in values[1:]:
        result = (
            torch.result_type(values[0], value)
            if len(values) == 2
            else torch.promote_types(result, value.dtype)
        )
    return dtype_of_torch(result)


def binary(builder: Builder, call: Call, op: str, left: Any, right: Any, dtype: DType) -> Node:
    """`op` on two operands in `dtype`.

    For f16 and bf16 torch computes with a Python number in f32, so a number that the 16-bit type cannot
    hold exactly is applied in f32.
    """
    numbers = [value for value in (left, right) if not isinstance(value, Node)]
    if dtype in (DType.F16, DType.BF16) and not all(fits_exactly(number, dtype) for number in numbers):
        wide = builder.inner(op, builder.operand(left, DType.F32), builder.operand(right, DType.F32))
        return builder.op("cast", (wide,), {"to": dtype})
    return builder.op(op, (builder.operand(left, dtype), builder.operand(right, dtype)))


def _fx_arguments(call: Call) -> dict[str, Any]:
    """The arguments as fake tensors and Python numbers, which torch.result_type takes."""
    schema = call.node.target._schema  # pyright: ignore[reportFunctionMemberAccess, reportAttributeAccessIssue]
    found: dict[str, Any] = {}
    for position, argument in enumerate(schema.arguments):
        raw = (
            call.node.args[position]
            if position < len(call.node.args)
            else call.node.kwargs.get(argument.name)
        )
        is_tensor = isinstance(raw, fx.Node) and isinstance(raw.meta.get("val"), torch.Tensor)
        found[argument.name] = raw.meta["val"] if is_tensor else call.arguments[argument.name]
    return found
