"""All elementwise ops."""

from __future__ import annotations

from dlrmc.ir.op import Op
from dlrmc.ir.ops import (
    elementwise_activation,
    elementwise_binary,
    elementwise_bitwise,
    elementwise_cast,
    elementwise_division,
    elementwise_math,
    elementwise_unary,
)

OPS: tuple[Op, ...] = (
    *elementwise_activation.OPS,
    *elementwise_unary.OPS,
    *elementwise_math.OPS,
    *elementwise_cast.OPS,
    *elementwise_binary.OPS,
    *elementwise_division.OPS,
    *elementwise_bitwise.OPS,
)
