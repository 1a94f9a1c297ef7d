"""Tensors made of nothing but their arguments; the device a graph pins on them is not heeded."""

from __future__ import annotations

import numpy as np

from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


def full(builder: Builder, call: Call) -> Node:
    """One given value."""
    return builder.full(call.shape, call["fill_value"], call.dtype)


def zeros(builder: Builder, call: Call) -> Node:
    """All 0."""
    return builder.full(call.shape, 0, call.dtype)


def ones(builder: Builder, call: Call) -> Node:
    """All 1."""
    return builder.full(call.shape, 1, call.dtype)


def scalar_tensor(builder: Builder, call: Call) -> Node:
    """A scalar."""
    return builder.scalar(call["s"], call.dtype)


def arange(builder: Builder, call: Call) -> Node:
    """A range; computed in f64 for floats, as torch does."""
    start, step = call.get("start", 0), call.get("step", 1)
    count = call.shape[0]
    if call.dtype is DType.BOOL:
        raise Refused("arange of bool")
    work = np.dtype(np.float64) if call.dtype.is_float else np.dtype(np.int64)
    values = np.arange(count, dtype=work) * np.array(step, work) + np.array(start, work)
    return builder.const(values.astype(call.dtype.numpy))


def triangle(builder: Builder, call: Call) -> Node:
    """Rows and columns of the lower or upper triangle, [2, n]."""
    indices = np.tril_indices if "tril" in call.target else np.triu_indices
    pairs = indices(call["row"], call["offset"], call["col"])
    return builder.const(np.stack(pairs).astype(call.dtype.numpy))


def _names(stem: str) -> tuple[str, ...]:
    return (f"aten.{stem}.default", f"aten.{stem}_like.default", f"aten.new_{stem}.default")


IMPORTERS = (
    (_names("full"), full),
    (_names("zeros"), zeros),
    (_names("ones"), ones),
    (("aten.scalar_tensor.default",), scalar_tensor),
    (("aten.tril_indices.default", "aten.triu_indices.default"), triangle),
    (("aten.arange.default", "aten.arange.start", "aten.arange.start_step"), arange),
)
