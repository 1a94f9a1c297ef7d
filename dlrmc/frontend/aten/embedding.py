"""Embedding rows and bags, in all their spellings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dlrmc.frontend.builder import Builder, Parts
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType

_MODES = ("sum", "mean", "max")
MAX_NORM_REASON = (
    "max_norm writes to the table while it is read, also in evaluation mode: "
    "renormalise the table once before the export and set max_norm=None"
)


def embedding(builder: Builder, call: Call) -> Node:
    """Rows of a table; `padding_idx` concerns gradients only and does not mask."""
    return builder.op("embedding", (call.tensor("weight"), _ids(builder, call.tensor("indices"))))


def embedding_bag(builder: Builder, call: Call) -> Parts:
    """`embedding_bag.padding_idx`: a negative padding_idx counts from the end, None is no padding."""
    padding = call["padding_idx"]
    rows = call.tensor("weight").shape[0]
    if padding is not None and not -rows <= padding < rows:
        raise Refused(f"padding_idx={padding} for a table of {rows} rows")
    return _bag(builder, call, -1 if padding is None else padding % rows)


def raw_embedding_bag(builder: Builder, call: Call) -> Parts:
    """`_embedding_bag` and `_embedding_bag_forward_only`: a negative padding_idx is no padding."""
    padding = call["padding_idx"]
    return _bag(builder, call, max(padding, -1))


def quantized_bag(bits: int) -> Callable[[Builder, Call], Node]:
    """Bags over rows of bytes or nibbles. torch sums them whatever `mode` says, and so does this."""

    def import_bag(builder: Builder, call: Call) -> Node:
        if call["pruned_weights"] or call["compressed_indices_mapping"] is not None:
            raise Refused("a pruned table, whose ids go through compressed_indices_mapping")
        offsets = call["offsets"]
        operands = (
            call.tensor("weight"),
            _ids(builder, call.tensor("indices")),
            None if offsets is None else _ids(builder, offsets),
            call["per_sample_weights"],
        )
        attributes = {"bits": bits, "include_last_offset": bool(call["include_last_offset"])}
        return builder.op("quantized_embedding_bag", operands, attributes)

    return import_bag


def renorm(_builder: Builder, _call: Call) -> Node:
    """A table written while it is read."""
    raise Refused(MAX_NORM_REASON)


def _bag(builder: Builder, call: Call, padding_idx: int) -> Parts:
    weights: Any = call["per_sample_weights"]
    operands = (
        call.tensor("weight"),
        _ids(builder, call.tensor("indices")),
        _ids(builder, call.tensor("offsets")),
        weights,
    )
    attributes = {
        "mode": _MODES[call["mode"]],
        "include_last_offset": bool(call["include_last_offset"]),
        "padding_idx": padding_idx,
    }
    bag = builder.op("embedding_bag", operands, attributes)

    def item(index: int) -> Node:
        if index != 0:
            raise Refused(
                "only the first result of embedding_bag is supported; the others serve its gradient"
            )
        return bag

    return Parts(item, 4)


def _ids(builder: Builder, ids: Node) -> Node:
    """Ids as given where they are i32 or i64; narrower ones are widened."""
    return ids if ids.type.dtype in (DType.I32, DType.I64) else builder.cast(ids, DType.I64)


IMPORTERS = (
    (("aten.embedding.default",), embedding),
    (("aten.embedding_bag.padding_idx",), embedding_bag),
    (("aten._embedding_bag.default", "aten._embedding_bag_forward_only.default"), raw_embedding_bag),
    (("quantized.embedding_bag_byte_rowwise_offsets.default",), quantized_bag(8)),
    (("quantized.embedding_bag_4bit_rowwise_offsets.default",), quantized_bag(4)),
    (("aten.embedding_renorm.default", "aten.embedding_renorm_.default"), renorm),
)
