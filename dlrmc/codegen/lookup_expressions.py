"""Reads at places that a tensor of ids names.

Every id is checked; a bad one reads nothing, gives zero and is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dlrmc.codegen.expressions import ExpressionWriter, Handler, Indices
from dlrmc.codegen.index_expressions import Index, constant, ravel, render
from dlrmc.codegen.scalar_types import COMPUTE_TYPES, literal
from dlrmc.codegen.view_indices import broadcast_index, through_views
from dlrmc.ir.graph import Node
from dlrmc.ir.op import many_optional, one


@dataclass(frozen=True, slots=True)
class Checked:
    """An id as an index, and the C condition under which it is in range; empty where it always is."""

    index: Index
    condition: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """One tensor of ids along one dimension of `size` rows.

    Args:
        ids: the node that holds the ids.
        at: which of its elements.
        size: ids must be below it.
        kind: of the fault site.
        wraps: whether ids from -size on count from the end.
    """

    ids: Node
    at: Indices
    size: int
    kind: str
    wraps: bool = False


def checked_id(writer: ExpressionWriter, lookup: Lookup) -> Checked:
    """Read an id into a variable, check it, and record a fault where it is out of range."""
    fixed = _fixed_id(lookup)
    if fixed is not None:
        return Checked(constant(fixed), "")
    key = ("id", lookup.ids, lookup.at, lookup.size, lookup.wraps)
    name = writer.blocks.bound(key)
    if name is None:
        name = _read_id(writer, lookup)
        writer.blocks.bind(key, name)
    is_safe = _is_always_in_range(lookup)
    condition = "" if is_safe else f"{name}_is_valid"
    return Checked(writer.blocks.variable(name, lookup.size), condition)


def _fixed_id(lookup: Lookup) -> int | None:
    """The id where it is one element of a constant, in range."""
    root, at = through_views(lookup.ids, lookup.at)
    if not root.is_op("const") or not _is_always_in_range(lookup):
        return None
    position = ravel(at, root.shape)
    return None if position.terms else int(root.value.reshape(-1)[position.constant]) % lookup.size


def _is_always_in_range(lookup: Lookup) -> bool:
    root, _ = through_views(lookup.ids, lookup.at)
    if not root.is_op("const"):
        return False
    lowest = -lookup.size if lookup.wraps else 0
    return bool(np.all((root.value >= lowest) & (root.value < lookup.size)))


def _read_id(writer: ExpressionWriter, lookup: Lookup) -> str:
    blocks, size = writer.blocks, f"{lookup.size}ll"
    raw = writer.value(lookup.ids, lookup.at)
    name = blocks.free_name(f"{lookup.ids.name}_id")
    wrapped = f"{raw} < 0 ? {raw} + {size} : {raw}" if lookup.wraps else raw
    blocks.write(f"const long long {name} = {wrapped};")
    if _is_always_in_range(lookup):
        return name
    root, at = through_views(lookup.ids, lookup.at)
    site = writer.faults.number(lookup.ids, lookup.kind)
    first, position = writer.first_position(root), render(ravel(at, root.shape))
    position = f"{first} + {position}" if first else position
    blocks.write(
        f"const bool {name}_is_valid = {name} >= 0 && {name} < {size};",
        f"if (!{name}_is_valid) record_fault(faults, {site}, {position}, {raw}, {size});",
    )
    return name


def _read(
    writer: ExpressionWriter, node: Node, at: Indices, ids: list[Checked], base: Node, place: Indices
) -> str:
    """The element of `base` at `place` if all the ids are in range, else zero; bound as `node` at `at`."""
    conditions = list(dict.fromkeys(item.condition for item in ids if item.condition))
    if not conditions:
        return writer.value(base, place)
    name = writer.blocks.free_name(f"v_{node.name}")
    dtype = node.type.dtype
    zero = literal(np.zeros((), dtype.numpy), dtype)
    writer.blocks.write(f"{COMPUTE_TYPES[dtype]} {name} = {zero};")
    with writer.blocks.block(f"if ({' && '.join(conditions)})"):
        writer.blocks.write(f"{name} = {writer.value(base, place)};")
    writer.blocks.bind((node, at), name)
    return name


def _embedding(writer: ExpressionWriter, node: Node, indices: Indices) -> str:
    table, ids = one(node.operands[0]), one(node.operands[1])
    row = checked_id(writer, Lookup(ids, indices[:-1], table.shape[0], "id"))
    return _read(writer, node, indices, [row], table, (row.index, indices[-1]))


def _index_select(writer: ExpressionWriter, node: Node, indices: Indices) -> str:
    x, ids, dim = one(node.operands[0]), one(node.operands[1]), node.attributes.int("dim")
    chosen = checked_id(writer, Lookup(ids, (indices[dim],), x.shape[dim], "index"))
    place = (*indices[:dim], chosen.index, *indices[dim + 1 :])
    return _read(writer, node, indices, [chosen], x, place)


def _gather(writer: ExpressionWriter, node: Node, indices: Indices) -> str:
    x, ids, dim = one(node.operands[0]), one(node.operands[1]), node.attributes.int("dim")
    chosen = checked_id(writer, Lookup(ids, indices, x.shape[dim], "index"))
    place = (*indices[:dim], chosen.index, *indices[dim + 1 :])
    return _read(writer, node, indices, [chosen], x, place)


def _index(writer: ExpressionWriter, node: Node, indices: Indices) -> str:
    x, tensors = one(node.operands[0]), many_optional(node.operands[1])
    present = [dim for dim, ids in enumerate(tensors) if ids is not None]
    is_adjacent = present == list(range(present[0], present[-1] + 1))
    first = present[0] if is_adjacent else 0
    rank = max(ids.type.rank for ids in tensors if ids is not None)
    own, rest = indices[first : first + rank], [*indices[:first], *indices[first + rank :]]
    chosen: dict[int, Checked] = {}
    for dim, ids in enumerate(tensors):
        if ids is not None:
            at = broadcast_index(own, ids.shape)
            chosen[dim] = checked_id(writer, Lookup(ids, at, x.shape[dim], "index", wraps=True))
    kept = iter(rest)
    place = tuple(chosen[dim].index if dim in chosen else next(kept) for dim in range(x.type.rank))
    return _read(writer, node, indices, list(chosen.values()), x, place)


LOOKUPS: Mapping[str, Handler] = MappingProxyType(
    {"embedding": _embedding, "index_select": _index_select, "gather": _gather, "index": _index}
)
