"""Which values of a program share storage, and which writes to it get lost where torch traces it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any

import torch
from torch import fx

from dlrmc.ir.strided import packed_strides

# In evaluation these return their operand, which their schemas do not say; `run_decompositions` copies it.
RETURN_THEIR_OPERAND: frozenset[str] = frozenset(["aten.dropout.default"])

# It changes what autograd knows of a value, and no number.
_WRITES_NO_VALUE = "aten.detach_.default"


@dataclass(frozen=True)
class _Part:
    """A part of `whole` that shares no element with its like: a `select` along `dim`, an item of a split."""

    whole: fx.Node
    dim: int | None
    index: int

    def is_apart_from(self, other: _Part) -> bool:
        """Whether they are two parts of one whole; an index from the front may be one from the end."""
        is_same_cut = self.whole is other.whole and self.dim == other.dim
        return is_same_cut and self.index != other.index and (self.index < 0) == (other.index < 0)


@dataclass(frozen=True)
class _Storage:
    """Where a value lies: in the memory that `root` made, behind operators that copy when traced again.

    Args:
        root: made the memory.
        copies: the operators on the way from there.
        parts: that were taken on the way.
    """

    root: fx.Node
    copies: frozenset[fx.Node] = frozenset()
    parts: frozenset[_Part] = frozenset()

    def is_apart_from(self, other: _Storage) -> bool:
        """Whether the two values, of one root, have no element in common for sure."""
        return any(own.is_apart_from(part) for own in self.parts for part in other.parts)


def lost_writes(nodes: Sequence[fx.Node]) -> Collection[fx.Node]:
    """The calls that write what is read later through an operator that copies when it is traced again.

    Args:
        nodes: all of a program, in order.
    """
    storages = _storages(nodes)
    if not any(storage.copies for storage in storages.values()):
        return ()
    places = {node: place for place, node in enumerate(nodes)}
    reads: defaultdict[fx.Node, list[tuple[int, _Storage]]] = defaultdict(list)
    for node, place in places.items():
        for operand in _read_operands(node):
            reads[storages[operand].root].append((place, storages[operand]))
    return [
        node
        for node in nodes
        if (written := written_operand(node)) is not None
        and _is_lost(storages[written], reads[storages[written].root], places[node], places)
    ]


def _is_lost(
    written: _Storage, reads: Sequence[tuple[int, _Storage]], place: int, places: Mapping[fx.Node, int]
) -> bool:
    """Whether a later read is on another side of a copy; one made after the write has seen it."""
    return any(
        written.copies - read.copies or any(places[copy] < place for copy in read.copies - written.copies)
        for read_place, read in reads
        if read_place > place and not read.is_apart_from(written)
    )


def _storages(nodes: Sequence[fx.Node]) -> dict[fx.Node, _Storage]:
    found: dict[fx.Node, _Storage] = {}
    for node in nodes:
        operand = _shared_operand(node)
        if operand is None:
            found[node] = _Storage(node)
        elif str(node.target) in RETURN_THEIR_OPERAND:
            found[node] = replace(found[operand], copies=found[operand].copies | {node})
        else:
            found[node] = replace(found[operand], parts=found[operand].parts | _parts(node, operand))
    return found


def _read_operands(node: fx.Node) -> Sequence[fx.Node]:
    """The operands whose elements a node reads; those of a view are read by who reads the view."""
    is_view = _shared_operand(node) is not None and written_operand(node) is None
    return () if is_view else node.all_input_nodes


def _parts(node: fx.Node, operand: fx.Node) -> frozenset[_Part]:
    """The part that a view takes of its operand, if it has elements that no other such part has."""
    if node.target is getitem and operand.args and _is_packed(operand.args[0]):
        return frozenset([_Part(operand, None, int(str(node.args[1])))])
    if str(node.target) != "aten.select.int" or not _is_packed(operand):
        return frozenset()
    dim, index, shape = node.args[1], node.args[2], operand.meta["val"].shape
    if not isinstance(dim, int) or not isinstance(index, int):
        return frozenset()
    size = shape[dim]
    from_front = index + size if index < 0 and isinstance(size, int) else index
    return frozenset([_Part(operand, dim % len(shape), from_front)])


def _is_packed(node: object) -> bool:
    """Whether a value is known to be contiguous: with a stride of 0, parts have the same elements."""
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    if not isinstance(value, torch.Tensor):
        return False
    shape = tuple(_expression(size) for size in value.shape)
    return tuple(_expression(stride) for stride in value.stride()) == packed_strides(shape)


def _expression(size: Any) -> Any:
    """A number, or what stands behind a symbolic one: comparing those adds no condition to the program."""
    return size.node.expr if isinstance(size, torch.SymInt) else size


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
