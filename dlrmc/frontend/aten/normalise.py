"""Normalisations: batch_norm in evaluation mode and layer_norm."""

from __future__ import annotations

import math
from typing import Any

from dlrmc.frontend.builder import Builder, Parts
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType

TRAINING_REASON = "batch_norm is in training mode: call model.eval() before torch.export.export"


def batch_norm_parts(builder: Builder, call: Call) -> Parts:
    """`_native_batch_norm_legit_no_training` and its like: result 0, the others serve the gradient."""
    if call.get("training", False) or call.get("train", False):
        raise Refused(TRAINING_REASON)
    value = _batch_norm(builder, call, call.tensor("input"))

    def item(index: int) -> Node:
        if index != 0:
            raise Refused("only the first result of batch_norm is supported; the others serve its gradient")
        return value

    return Parts(item, 3)


def batch_norm(builder: Builder, call: Call) -> Node:
    """`batch_norm.default` in evaluation mode."""
    if call["training"]:
        raise Refused(TRAINING_REASON)
    return _batch_norm(builder, call, call.tensor("input"))


def training_batch_norm(_builder: Builder, _call: Call) -> Node:
    """Any batch_norm that uses the batch's own statistics."""
    raise Refused(TRAINING_REASON)


def _batch_norm(builder: Builder, call: Call, x: Node) -> Node:
    """`x * scale + shift`, both made of weights alone, so that a pass may compute them once at load."""
    mean, variance = call.get("running_mean"), call.get("running_var")
    if mean is None or variance is None:
        raise Refused("batch_norm without running statistics uses the batch's own")
    stats: DType = mean.type.dtype
    weight, bias = (_as(builder, call.get(name), stats) for name in ("weight", "bias"))
    inverse = builder.inner(
        "rsqrt", builder.inner("add", variance, builder.scalar(float(call["eps"]), stats))
    )
    scale = inverse if weight is None else builder.inner("mul", inverse, weight)
    shift = builder.inner("mul", mean, scale)
    shift = builder.inner("neg", shift) if bias is None else builder.inner("sub", bias, shift)
    shape = mean.shape + (1,) * (x.type.rank - 2)
    scale, shift = (builder.inner_view(value, shape) for value in (scale, shift))
    scaled = builder.inner("mul", builder.cast(x, stats), scale)
    return builder.cast(builder.op("add", (scaled, shift)), x.type.dtype)


def _as(builder: Builder, value: Any, dtype: DType) -> Node | None:
    return None if value is None else builder.cast(value, dtype)


def layer_norm(builder: Builder, call: Call) -> Node:
    """`layer_norm` over the last dimensions, which are viewed as one."""
    x = call.tensor("input")
    normal = list(call["normalized_shape"])
    weight, bias = call.get("weight"), call.get("bias")
    attributes = {"eps": float(call["eps"])}
    if len(normal) == 1:
        return builder.op("layer_norm", (x, weight, bias), attributes)
    size = math.prod(normal)
    flat = builder.inner_view(x, (*x.shape[: x.type.rank - len(normal)], size))
    weight, bias = (None if v is None else builder.inner_view(v, (size,)) for v in (weight, bias))
    return builder.inner_view(builder.op("layer_norm", (flat, weight, bias), attributes), x.shape)


def native_layer_norm(builder: Builder, call: Call) -> Parts:
    """`native_layer_norm`: result 0, the others serve the gradient."""
    value = layer_norm(builder, call)

    def item(index: int) -> Node:
        if index != 0:
            raise Refused(
                "only the first result of native_layer_norm is supported; the others serve its gradient"
            )
        return value

    return Parts(item, 3)


def native_group_norm(builder: Builder, call: Call) -> Parts:
    """`native_group_norm` of x[N, C, ...]: each group of channels normalised as one row; result 0."""
    x, groups = call.tensor("input"), call["group"]
    batch, channels = x.shape[:2]
    rows = builder.inner_view(x, (batch, groups, x.type.numel // max(batch * groups, 1)))
    normal = builder.op("layer_norm", (rows, None, None), {"eps": float(call["eps"])})
    value = builder.inner_view(normal, x.shape)
    spread = (channels, *(1,) * (x.type.rank - 2))
    for name, op in (("weight", "mul"), ("bias", "add")):
        if call.get(name) is not None:
            value = builder.inner(op, value, builder.inner_view(call.tensor(name), spread))

    def item(index: int) -> Node:
        if index != 0:
            raise Refused("only the first result of group_norm is supported; the others serve its gradient")
        return value

    return Parts(item, 3)


IMPORTERS = (
    (
        (
            "aten._native_batch_norm_legit_no_training.default",
            "aten.native_batch_norm.default",
            "aten.cudnn_batch_norm.default",
            "aten._batch_norm_no_update.default",
        ),
        batch_norm_parts,
    ),
    (("aten.batch_norm.default",), batch_norm),
    (
        (
            "aten._native_batch_norm_legit.default",
            "aten._native_batch_norm_legit.no_stats",
            "aten._native_batch_norm_legit_functional.default",
            "aten._batch_norm_with_update.default",
            "aten._batch_norm_with_update_functional.default",
        ),
        training_batch_norm,
    ),
    (("aten.layer_norm.default",), layer_norm),
    (("aten.native_layer_norm.default",), native_layer_norm),
    (("aten.native_group_norm.default",), native_group_norm),
)
