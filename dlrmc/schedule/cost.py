"""The least work of a kernel, counted over its body: bytes it must read and write, and arithmetic.

Bytes count each operand once and each result once, however often an implementation reads them. Of a table
only the rows that ids name are counted, at most the whole table; of a sliced operand, only the slice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dlrmc.ir.bag_tables import BAG_OPS, bags_of
from dlrmc.ir.graph import Node
from dlrmc.ir.op import flatten, many, one, optional
from dlrmc.ir.types import TensorType
from dlrmc.schedule.buffers import result_types


@dataclass(frozen=True, slots=True)
class Cost:
    """The least that one launch of a kernel must do.

    Args:
        read_bytes: of operands.
        written_bytes: of results.
        multiply_adds: of products of matrices and of pairs.
        other_flops: additions of bags and reductions, one a result of every elementwise op.
    """

    read_bytes: int = 0
    written_bytes: int = 0
    multiply_adds: int = 0
    other_flops: int = 0

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.read_bytes + self.written_bytes

    @property
    def flops(self) -> int:
        """Floating-point operations; a multiply-add is two."""
        return 2 * self.multiply_adds + self.other_flops

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.read_bytes + other.read_bytes,
            self.written_bytes + other.written_bytes,
            self.multiply_adds + other.multiply_adds,
            self.other_flops + other.other_flops,
        )


# Ops that only move values: they cost no arithmetic, and of their first operand what they give.
_PARTIAL: Final = ("embedding", "index_select", "index", "gather", "slice", "select")
_MOVES: Final = (*_PARTIAL, "view", "permute", "expand", "cat", "input", "weight", "const", "item")


def kernel_cost(kernel: Node) -> Cost:
    """The least work of one kernel node.

    Args:
        kernel: a node with op `kernel`.
    """
    body = kernel.body
    read = sum(_read_bytes(operand, body.users(operand)) for operand in body.inputs)
    written = sum(_bytes(kept) for kept in result_types(kernel))
    multiply_adds = sum(_multiply_adds(node) for node in body.nodes)
    other_flops = sum(_other_flops(node) for node in body.nodes)
    return Cost(read, written, multiply_adds, other_flops)


def _bytes(kind: TensorType) -> int:
    return kind.numel * kind.dtype.size_bytes


# -- bytes ---------------------------------------------------------------------------------------------------


def _read_bytes(operand: Node, users: tuple[Node, ...]) -> int:
    """Bytes of an input of a body that its users need: all, or the sum of the parts they pick."""
    parts = [_picked_bytes(operand, user) for user in users]
    whole = _bytes(operand.type)
    return min(whole, sum(whole if part is None else part for part in parts))


def _picked_bytes(operand: Node, user: Node) -> int | None:
    """Bytes that `user` picks out of the operand; None where it reads all of it."""
    if user.is_op(*BAG_OPS):
        picked = [_rows_bytes(operand, bags.ids) for bags in bags_of(user) if bags.table is operand]
        return sum(picked) if picked else None
    if user.is_op(*_PARTIAL) and user.operands[0] is operand:
        return _bytes(user.type)
    return None


def _rows_bytes(table: Node, ids: Node) -> int:
    return min(ids.type.numel, table.shape[0]) * table.shape[1] * table.type.dtype.size_bytes


# -- arithmetic ----------------------------------------------------------------------------------------------


def _linear(node: Node) -> int:
    return math.prod(node.shape[:-1]) * math.prod(one(node.operands[1]).shape)


def _mm(node: Node) -> int:
    return node.type.numel * one(node.operands[0]).shape[-1]


def _addmm(node: Node) -> int:
    return node.type.numel * one(node.operands[1]).shape[-1]


def _bmm(node: Node) -> int:
    a = one(node.operands[0])
    return node.type.numel * a.shape[1 if node.attributes.bool("trans_a") else 2]


def _pairwise(node: Node) -> int:
    return node.type.numel * many(node.operands[0])[0].shape[-1]


_PRODUCTS: Final[Mapping[str, Callable[[Node], int]]] = MappingProxyType(
    {"linear": _linear, "mm": _mm, "addmm": _addmm, "bmm": _bmm, "pairwise_dot": _pairwise}
)


def _multiply_adds(node: Node) -> int:
    count = _PRODUCTS.get(node.op.name)
    return 0 if count is None else count(node)


def _other_flops(node: Node) -> int:
    """Bias and activation of a linear, additions of bags, one operation a value computed or reduced."""
    if node.is_op(*_MOVES) or node.has_body:
        return 0
    if node.is_op("linear"):
        has_bias = optional(node.operands[2]) is not None
        return node.type.numel * (has_bias + (node.attributes.str("act") != "none"))
    if node.is_op("addmm"):
        return node.type.numel
    if node.is_op("mm", "bmm", "pairwise_dot"):
        return 0
    if node.is_op(*BAG_OPS):
        return sum(_added(bags.ids, bags.table) for bags in bags_of(node))
    operands = [operand.type.numel for operand in flatten(node.operands)]
    return max(node.type.numel, *operands) if operands else node.type.numel


def _added(ids: Node, table: Node) -> int:
    return ids.type.numel * table.shape[1]
