"""What a rule may ask about a match: constants are compared by value, readers by op."""

from __future__ import annotations

import numpy as np

from dlrmc.ir.graph import Node
from dlrmc.ir.op import Array
from dlrmc.ir.ops.interaction import PAIRS, pair_indices
from dlrmc.passes.matching import Match

# Ops that read the parts of a cat one by one, so that the cat need not be made.
READS_PARTS = ("linear", "pairwise_dot")


def is_const(node: Node) -> bool:
    """Whether the value stands in the program."""
    return node.is_op("const")


def is_filled_with(node: Node, value: float) -> bool:
    """Whether the node is a const whose elements, of which there is one at least, all equal `value`."""
    return is_const(node) and node.type.numel > 0 and bool(np.all(node.value == value))


def is_uniform(node: Node) -> bool:
    """Whether the value is made of weights and constants only, so that it is the same for every request."""
    seen = {node}
    open_nodes = [node]
    while open_nodes:
        current = open_nodes.pop()
        if current.is_op("weight", "const", "derive"):
            continue
        if current.is_op("input", "kernel"):
            return False
        fresh = [operand for operand in current.inputs if operand not in seen]
        seen.update(fresh)
        open_nodes.extend(fresh)
    return True


# -- triangles
# -------------------------------------------------------------------------------------------------


def pair_order(i: Node, j: Node, features: int) -> str | None:
    """Which triangle of a symmetric features x features matrix the entries (i[p], j[p]) are, row by row.

    (i, j) and (j, i) are the same entry, and negative indices count from the end. Returns one of
    `dlrmc.ir.ops.interaction.PAIRS`, or None where the indices are not consts or are in no such order.
    """
    if not (is_const(i) and is_const(j)) or i.type.rank != 1 or i.shape != j.shape:
        return None
    return _pair_order(i.value, j.value, features)


def flat_pair_order(flat: Node, features: int) -> str | None:
    """The same for indices i * features + j into the flattened matrix."""
    if not is_const(flat) or flat.type.rank != 1 or not features:
        return None
    wrapped = _wrapped(flat.value, features * features)
    return _pair_order(wrapped // features, wrapped % features, features)


def _pair_order(i: Array, j: Array, features: int) -> str | None:
    rows, columns = _wrapped(i, features), _wrapped(j, features)
    entry = np.stack([np.maximum(rows, columns), np.minimum(rows, columns)])
    for order in PAIRS:
        first, second = pair_indices(order, features)
        wanted = np.stack([np.maximum(first, second), np.minimum(first, second)])
        if entry.shape == wanted.shape and bool(np.all(entry == wanted)):
            return order
    return None


def _wrapped(indices: Array, size: int) -> Array:
    """Indices counted from the front, in i64."""
    wide = indices.astype(np.int64)
    return np.where(wide < 0, wide + size, wide)


# -- sequences
# -------------------------------------------------------------------------------------------------


def index_range(indices: Node, size: int) -> range | None:
    """The ascending range that a const of indices into a dimension of `size` is, or None.

    Negative indices count from the end; an index out of range makes it no range.
    """
    if not is_const(indices) or indices.type.rank != 1 or not indices.type.dtype.is_integer:
        return None
    if not indices.type.numel:
        return None
    values = _wrapped(indices.value, size)
    step = int(values[1] - values[0]) if len(values) > 1 else 1
    if step < 1 or values[0] < 0 or values[-1] >= size or not bool(np.all(np.diff(values) == step)):
        return None
    return range(int(values[0]), int(values[-1]) + 1, step)


def has_negative(indices: Node) -> bool:
    """Whether a const of indices holds a negative one, which `index` wraps and all other ops refuse."""
    return bool(np.any(indices.value < 0))


def bag_length(offsets: Node, ids: int, include_last_offset: bool) -> int | None:
    """The length of every bag where the const offsets are 0, L, 2L, ... and cover all ids; else None."""
    if not is_const(offsets):
        return None
    bags = offsets.type.numel - int(include_last_offset)
    if bags < 1 or ids % bags or not ids:
        return None
    length = ids // bags
    return length if is_arange_offsets(offsets, length) else None


def is_arange_offsets(offsets: Node, length: int) -> bool:
    """Whether the const is 0, length, 2 * length, ..."""
    wanted = np.arange(offsets.type.numel, dtype=np.int64) * length
    return is_const(offsets) and bool(np.array_equal(offsets.value.reshape(-1).astype(np.int64), wanted))


# -- readers
# ---------------------------------------------------------------------------------------------------


def is_read_by_parts(match: Match, value: Node) -> bool:
    """Whether all that read a cat can read its parts instead, directly or through a view.

    This is about cost, not about meaning: a cat that something else reads is made anyway, and is then the
    better operand.
    """
    readers = match.readers(value)
    if readers is None:
        return False
    for reader in readers:
        if reader.is_op("view") and not is_read_by_parts(match, reader):
            return False
        if not reader.is_op("view", *READS_PARTS):
            return False
    return True
