"""Views as maps of indices: where an element of a view lies in the value below it."""

from __future__ import annotations

from dlrmc.codegen.index_expressions import Index, add, constant, ravel, scale, unravel
from dlrmc.ir.graph import Node
from dlrmc.ir.op import one
from dlrmc.ir.strided import VIEW_OPS

Indices = tuple[Index, ...]


def is_view(node: Node) -> bool:
    """Whether the op only renames indices."""
    return node.is_op(*VIEW_OPS)


def viewed(node: Node, indices: Indices) -> tuple[Node, Indices]:
    """The value that a view shows, and the index there of the view's element at `indices`."""
    base = one(node.operands[0])
    attributes = node.attributes
    match node.op.name:
        case "permute":
            places = attributes.ints("perm")
            return base, tuple(indices[places.index(axis)] for axis in range(len(places)))
        case "expand":
            return base, broadcast_index(indices, base.shape)
        case "slice":
            dim, start, step = attributes.int("dim"), attributes.int("start"), attributes.int("step")
            moved = add((scale(indices[dim], step), constant(start)))
            return base, (*indices[:dim], moved, *indices[dim + 1 :])
        case "select":
            dim, chosen = attributes.int("dim"), constant(attributes.int("index"))
            return base, (*indices[:dim], chosen, *indices[dim:])
        case _:
            return base, unravel(ravel(indices, node.shape), base.shape)


def through_views(node: Node, indices: Indices) -> tuple[Node, Indices]:
    """The first value below that is no view, and the index there."""
    while is_view(node):
        node, indices = viewed(node, indices)
    return node, indices


def broadcast_index(indices: Indices, shape: tuple[int, ...]) -> Indices:
    """The index into an operand of that shape that is broadcast to the shape that `indices` run over."""
    own = indices[len(indices) - len(shape) :]
    return tuple(constant(0) if size == 1 else index for size, index in zip(shape, own, strict=True))
