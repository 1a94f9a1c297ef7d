"""Attention kept whole by canon, as two products of matrices and a softmax."""

from __future__ import annotations

import math

import numpy as np

from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


def scaled_dot_product_attention(builder: Builder, call: Call) -> Node:
    """`softmax(scale * q @ k.T + mask) @ v` over [..., L, E], [..., S, E], [..., S, V].

    A row whose keys are all masked gives zeros, as in torch.
    """
    if call["dropout_p"] != 0:
        raise Refused("attention with live dropout: call model.eval() before the export")
    query, key, value = (call.tensor(name) for name in ("query", "key", "value"))
    batch = call.shape[:-2]
    heads = batch[-1] if batch else 1
    key, value = (_repeated(builder, each, heads, bool(call["enable_gqa"])) for each in (key, value))
    query, key, value = (_flat(builder, each, batch) for each in (query, key, value))
    scale = call["scale"] if call["scale"] is not None else 1.0 / math.sqrt(query.shape[-1])
    scores = builder.inner("bmm", query, builder.inner("permute", key, perm=(0, 2, 1)))
    scores = builder.inner("mul", scores, builder.scalar(float(scale), scores.type.dtype))
    weights = _weights(builder, call, scores, batch)
    return builder.view(builder.inner("bmm", weights, value), call.shape)


def _repeated(builder: Builder, x: Node, heads: int, is_grouped: bool) -> Node:
    """Heads that serve several queries, repeated for each."""
    if not is_grouped or x.shape[-3] == heads:
        return x
    lead, (own, length, width) = x.shape[:-3], x.shape[-3:]
    split = builder.inner_view(x, (*lead, own, 1, length, width))
    wide = builder.inner("expand", split, shape=(*lead, own, heads // own, length, width))
    return builder.inner_view(wide, (*lead, heads, length, width))


def _flat(builder: Builder, x: Node, batch: tuple[int, ...]) -> Node:
    """All leading dimensions as one."""
    shape = (*batch, *x.shape[-2:])
    wide = x if x.shape == shape else builder.inner("expand", x, shape=shape)
    return builder.inner_view(wide, (math.prod(batch), *x.shape[-2:]))


def _weights(builder: Builder, call: Call, scores: Node, batch: tuple[int, ...]) -> Node:
    """The softmax of the masked scores [batch, L, S]."""
    rows, columns = scores.shape[-2:]
    mask = call.get("attn_mask")
    if call["is_causal"]:
        mask = builder.graph.const(f"{builder.name}_causal", np.tril(np.ones((rows, columns), np.bool_)))
    if mask is None:
        return builder.inner("softmax", scores, dim=2)
    if mask.type.rank > 2:
        mask = builder.inner("expand", mask, shape=(*batch, rows, columns))
        mask = builder.inner_view(mask, scores.shape)
    infinity = builder.scalar(-math.inf, scores.type.dtype)
    if mask.type.dtype is DType.BOOL:
        masked = builder.inner("where", mask, scores, infinity)
    else:
        masked = builder.inner("add", scores, builder.cast(mask, scores.type.dtype))
    weights = builder.inner("softmax", masked, dim=2)
    if _leaves_a_key(mask):
        return weights
    largest = builder.inner("amax", masked, dims=(2,), keepdim=True)
    is_empty = builder.inner("eq", largest, infinity)
    return builder.inner("where", is_empty, builder.scalar(0, scores.type.dtype), weights)


def _leaves_a_key(mask: Node) -> bool:
    """Whether a constant mask leaves some key to every query."""
    if not mask.is_op("const"):
        return False
    kept = mask.value if mask.type.dtype is DType.BOOL else np.isfinite(mask.value.astype(np.float64))
    return bool(kept.any(axis=-1).all())


IMPORTERS = ((("aten.scaled_dot_product_attention.default",), scaled_dot_product_attention),)
