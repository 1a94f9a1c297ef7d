"""Which values of a program share storage, and which writes to it get lost where torch traces it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem

import torch
from torch import fx

# In evaluation these return their operand, which their schemas do not say; `run_decompositions` copies it.
RETURN_THEIR_OPERAND: frozenset[str] = frozenset(["aten.dropout.default"])

# It changes what autograd knows of a value, and no number.
_WRITES_NO_VALUE = "aten.detach_.default"


@dataclass(frozen=True)
class _Storage:
    """Where a value lies: in the memory that `root` made, behind operators that copy when traced again."""

    root: fx.Node
    copies: frozenset[fx.Node] = frozenset()


@dataclass(frozen=True)
class _Read:
    """One reading of a storage: by which node of the program, and behind which copies."""

    place: int
    copies: frozenset[fx.Node]


def lost_writes(nodes: Sequence[fx.Node]) -> Collection[fx.Node]:
    """The calls that write what is read later through an operator that copies when it is traced again.

    Args:
        nodes: all of a program, in order.
    """
    storages = _storages(nodes)
    if not any(storage.copies for storage in storages.values()):
        return ()
    places = {node: place for place, node in enumerate(nodes)}
    reads: defaultdict[fx.Node, list[_Read]] = defaultdict(list)
    for node, place in places.items():
        for operand in node.all_input_nodes:
            reads[storages[operand].root].append(_Read(place, storages[operand].copies))
    return [
        node
        for node in nodes
        if (written := written_operand(node)) is not None
        and _is_lost(storages[written], reads[storages[written].root], places[node], places)
    ]


def _is_lost(written: _Storage, reads: Sequence[_Read], place: int, places: Mapping[fx.Node, int]) -> bool:
    """Whether a later read is on another side of a copy; one made after the write has seen it."""
    return any(
        written.copies - read.copies or any(places[copy] < place for copy in read.copies - written.copies)
        for read in reads
        if read.place > place
    )


def _storages(nodes: Sequence[fx.Node]) -> dict[fx.Node, _Storage]:
    found: dict[fx.Node, _Storage] = {}
    for node in nodes:
        operand = _shared_operand(node)
        if operand is None:
            found[node] = _Storage(node)
        elif str(node.target) in RETURN_THEIR_OPERAND:
            found[node] = _Storage(found[operand].root, found[operand].copies | {node})
        else:
            found[node] = found[operand]
    return found


def _shared_operand(node: fx.Node) -> fx.Node | None:
    """The operand whose memory the result may be in."""
    first = node.args[0] if node.args else None
    if node.op != "call_function" or not isinstance(first, fx.Node):
        return None
    if node.target is getitem:
        return first
    return None if has_storage_of_its_own(node) else first


def has_storage_of_its_own(node: fx.Node) -> bool:
    """Whether the schema of a call says that no operand has its memory."""
    if not isinstance(node.target, torch._ops.OpOverload) or str(node.target) in RETURN_THEIR_OPERAND:
        return False
    return all(result.alias_info is None for result in node.target._schema.returns)


def written_operand(node: fx.Node) -> fx.Node | None:
    """The first operand that a call writes, if any."""
    if not isinstance(node.target, torch._ops.OpOverload) or str(node.target) == _WRITES_NO_VALUE:
        return None
    for argument, value in zip(node.target._schema.arguments, node.args, strict=False):
        if argument.is_write and isinstance(value, fx.Node):
            return value
    return None
