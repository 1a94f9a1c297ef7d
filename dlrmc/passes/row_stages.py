"""Which ops a row program has a stage for."""

from __future__ import annotations

from dlrmc.ir.node import Node
from dlrmc.ir.op import Elementwise
from dlrmc.ir.strided import VIEW_OPS
from dlrmc.ir.types import DType

STAGE_OPS = (
    "linear",
    "bmm",
    "embedding",
    "embedding_bag",
    "embedding_bag_group",
    "quantized_embedding_bag",
    "quantized_embedding_bag_group",
    "pairwise_dot",
    "cat",
    "sum",
    "mean",
    "amax",
    "amin",
    "prod",
    "softmax",
    "log_softmax",
    "layer_norm",
    "argsort",
    "cumsum",
    "cumprod",
    "index",
    "index_select",
    "gather",
    *VIEW_OPS,
)
STAGE_DTYPES = (DType.F32, DType.I64, DType.I32, DType.U8, DType.I8, DType.BOOL)
HALF_DTYPES = (DType.F16, DType.BF16)
HALF_OPS = ("embedding", "embedding_bag", "embedding_bag_group", *VIEW_OPS)


def has_stage(node: Node) -> bool:
    """Whether there is a stage for the op and its dtypes."""
    if not isinstance(node.op, Elementwise) and not node.is_op(*STAGE_OPS):
        return False
    dtypes = {value.type.dtype for value in (node, *node.inputs)}
    return dtypes <= {*STAGE_DTYPES, *(HALF_DTYPES if _takes_halves(node) else ())}


def _takes_halves(node: Node) -> bool:
    """Whether the stage of the op is one for 16-bit floats, too: rows of tables, up to their cast to f32."""
    return node.is_op(*HALF_OPS) or (node.is_op("cast") and node.type.dtype is DType.F32)
