"""Constants that repeat one slice along a dimension hold it once: `full([batch, 1], 0)` needs no rows.

The slice is expanded, and readers that broadcast by themselves need no expand either.
"""

from __future__ import annotations

import numpy as np

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Array
from dlrmc.passes.pass_types import PassResult

# They read ids, tables of pairs and offsets, which rules compare by value.
_READERS_BY_VALUE = (
    "index",
    "index_select",
    "gather",
    "embedding",
    "embedding_bag",
    "embedding_bag_group",
    "quantized_embedding_bag",
    "quantized_embedding_bag_group",
)


def run(graph: Graph) -> PassResult:
    """Replace such constants, unless a lookup reads them or they are returned."""
    spread = 0
    for node in graph.nodes:
        if not node.is_op("const") or _is_kept(graph, node):
            continue
        value = _slice(node.value)
        if value.shape == node.shape:
            continue
        once = graph.const(node.name, value, node.type.with_shape(value.shape), place=node)
        wide = graph.add("expand", (once,), {"shape": node.shape}, place=node)
        graph.replace(node, wide)
        spread += 1
    return PassResult.of({"spread": spread})


def _is_kept(graph: Graph, node: Node) -> bool:
    is_returned = graph.returns(node)
    return is_returned or any(user.is_op(*_READERS_BY_VALUE) for user in graph.users(node))


def _slice(value: Array) -> Array:
    """The value with size 1 in every dimension along which its slices are equal, to the bit."""
    if not value.shape or not value.size:
        return value
    bits = np.ascontiguousarray(value).view(np.uint8).reshape(*value.shape, -1)
    for axis, size in enumerate(value.shape):
        if size < 2:
            continue
        first = bits.take([0], axis=axis)
        if np.array_equal(bits, np.broadcast_to(first, bits.shape)):
            bits, value = first, value.take([0], axis=axis)
    return value
