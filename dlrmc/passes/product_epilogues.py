"""Elementwise consumers that the kernel of a linear layer computes in its epilogue.

`x0 * (x @ w.T + b) + x`, `x + linear(...)`, `sigmoid(linear(...)) * v`: a kernel of their own would read what
the product's kernel has written. The epilogue computes them of the sum while it is in a register, and
reads their other operands at the same place: values of the product's shape, or broadcast to it.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Elementwise
from dlrmc.ir.strided import VIEW_OPS, Strided, resolve_strided, row_strides, under_views
from dlrmc.ir.types import DType

# Operands that an epilogue reads beside the bias: a lane holds some fragments of each in registers.
EPILOGUE_OPERANDS_MAX = 4
_FLOATS = (DType.F32, DType.F16, DType.BF16)


@dataclass(frozen=True)
class ProductEpilogue:
    """A linear layer and what becomes of it in its epilogue.

    Attributes:
        product: the linear layer, which nothing else reads.
        nodes: the elementwise ops, and the views that show the last of them; the first is the result.
        operands: what they read beside the product, in order of first use.
    """

    product: Node
    nodes: tuple[Node, ...]
    operands: tuple[Node, ...]


def find_epilogue(graph: Graph, result: Node) -> ProductEpilogue | None:
    """The epilogue whose result a value is; None where it is none.

    All elementwise ops that only it reads belong to it. Of several layers that it reads the last is the
    product, and the others are operands.
    """
    views = _views_above(graph, result)
    root = views[-1].inputs[0] if views else result
    if not isinstance(root.op, Elementwise) or root.type.rank < 2:
        return None
    nodes = _elementwise_region(graph, root)
    product = _product_of(graph, root, nodes)
    if product is None:
        return None
    inside = {product, *nodes}
    operands = tuple(
        dict.fromkeys(
            operand
            for node in nodes
            for operand in node.inputs
            if operand not in inside and not _is_scalar_constant(operand)
        )
    )
    if len(operands) > EPILOGUE_OPERANDS_MAX or not all(_is_readable(each, product) for each in operands):
        return None
    return ProductEpilogue(product, (*views, *nodes), operands)


def epilogues_apart(graph: Graph, members: frozenset[Node]) -> frozenset[Node]:
    """Those of the members of row programs that belong to the epilogues of layers that are none.

    What an epilogue reads must be in memory by then anyway: what only the row program has would be written
    for the epilogue alone.
    """
    apart: set[Node] = set()
    for node in reversed(graph.nodes):
        if node not in members or node in apart:
            continue
        found = find_epilogue(graph, node)
        if found is None or found.product in members:
            continue
        inside = {found.product, *found.nodes}
        if all(_is_in_memory(graph, operand, members, inside) for operand in found.operands):
            apart.update(found.nodes)
    return frozenset(apart)


def broadcast_to(window: Strided, shape: tuple[int, ...]) -> Strided | None:
    """The window with the strides of a larger shape, 0 where it broadcasts; None where it does not."""
    missing = len(shape) - len(window.shape)
    if missing < 0:
        return None
    sizes = (*(1 for _ in range(missing)), *window.shape)
    strides = (*(0 for _ in range(missing)), *window.strides)
    if any(size not in (1, wide) for size, wide in zip(sizes, shape, strict=True)):
        return None
    spread = tuple(
        0 if size == 1 != wide else stride for size, stride, wide in zip(sizes, strides, shape, strict=True)
    )
    return Strided(window.root, window.offset, shape, spread)


def _views_above(graph: Graph, result: Node) -> list[Node]:
    """The views, each the only reader of what it shows, through which a result shows another value."""
    views: list[Node] = []
    node = result
    while node.is_op("view") and graph.use_count(node.inputs[0]) == 1:
        views.append(node)
        node = node.inputs[0]
    return views


def _elementwise_region(graph: Graph, root: Node) -> list[Node]:
    """The root and the elementwise producers that only the region reads."""
    region, inside = [root], {root}
    for node in region:
        for operand in node.inputs:
            if operand not in inside and _joins(graph, operand, inside):
                region.append(operand)
                inside.add(operand)
    return region


def _joins(graph: Graph, node: Node, inside: Container[Node]) -> bool:
    if not isinstance(node.op, Elementwise) or graph.returns(node):
        return False
    return all(user in inside for user in graph.users(node))


def _product_of(graph: Graph, root: Node, region: Sequence[Node]) -> Node | None:
    """The last linear layer of the root's shape and dtype that only the region reads."""
    read = dict.fromkeys(operand for node in region for operand in node.inputs)
    inside = frozenset(region)
    found = [node for node in read if node.is_op("linear") and _is_product(graph, node, root, inside)]
    if len(found) < 2:
        return found[0] if found else None
    return next(node for node in reversed(graph.nodes) if node in found)


def _is_product(graph: Graph, node: Node, root: Node, region: frozenset[Node]) -> bool:
    if node.type != root.type or node.type.dtype not in (*_FLOATS, DType.F64):
        return False
    if graph.returns(node) or any(map(_is_scalar_constant, node.inputs)):
        return False
    return all(user in region for user in graph.users(node))


def _is_scalar_constant(node: Node) -> bool:
    """Whether the value stands in the text of the kernel."""
    return node.is_op("const") and node.type.numel == 1


def _is_readable(operand: Node, product: Node) -> bool:
    """Whether the epilogue can read the operand where it is: as rows that broadcast to the product's."""
    is_double = product.type.dtype is DType.F64
    if operand.type.dtype not in ((DType.F64,) if is_double else _FLOATS):
        return False
    window = resolve_strided(operand)
    spread = None if window is None else broadcast_to(window, product.shape)
    return spread is not None and math.prod(spread.shape) > 0 and row_strides(spread) is not None


def _is_in_memory(graph: Graph, operand: Node, members: frozenset[Node], inside: Container[Node]) -> bool:
    """Whether a value has a buffer whether or not the epilogue reads it."""
    value = under_views(operand)
    if value not in members or graph.returns(value):
        return True
    return any(user not in members and user not in inside for user in _readers(graph, value))


def _readers(graph: Graph, value: Node) -> list[Node]:
    """The nodes that read the value, through views or not."""
    readers: list[Node] = []
    for user in graph.users(value):
        readers.extend(_readers(graph, user) if user.is_op(*VIEW_OPS) else [user])
    return readers
