"""All elementwise ops."""

from __future__ import annotations

from dlrmc.ir.op import Op
from dlrmc.ir.ops import elementwise_binary, elementwise_unary

OPS: tuple[Op, ...] = (*elementwise_unary.OPS, *elementwise_binary.OPS)
