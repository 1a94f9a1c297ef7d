"""Horizontal fusion: embedding bags of equal width become one op, in three functions: find, may_join, join.

One launch then serves all tables. Rows, bag lengths, modes, options and dtypes of ids may differ by table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from dlrmc.ir.attributes import Attribute
from dlrmc.ir.bag_tables import SINGLE_BAG_OPS
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Operand, one, optional
from dlrmc.ir.types import TensorType
from dlrmc.passes.pass_types import PassResult

# Kernel parameters fill at most 4 KB: four pointers a table, and a few more for the result and the faults.
TABLES_MAX = 96

# The op's name, the type of the bags, and the bits of a code.
_Kind = tuple[str, TensorType, int]

# The readers whose order of operands decides the order in the group, so that they can read it whole.
_READERS = ("pairwise_dot", "linear", "cat")


@dataclass(frozen=True)
class _Paths:
    """Which bags each bag depends on.

    `bit` is the power of two that stands for a bag, `upstream` the union of those of the bags above a value.
    """

    bit: Mapping[Node, int]
    upstream: Mapping[Node, int]

    @staticmethod
    def of(graph: Graph) -> _Paths:
        bit: dict[Node, int] = {}
        upstream: dict[Node, int] = {}
        for node in graph.nodes:
            upstream[node] = 0
            for operand in node.inputs:
                upstream[node] |= upstream[operand] | bit.get(operand, 0)
            if node.is_op(*SINGLE_BAG_OPS):
                bit[node] = 1 << len(bit)
        return _Paths(bit, upstream)

    def run_between(self, a: Node, b: Node) -> bool:
        """Whether one of two bags depends on the other."""
        return bool(self.upstream[a] & self.bit[b] or self.upstream[b] & self.bit[a])


def run(graph: Graph) -> PassResult:
    """Join until no two bags may be joined."""
    groups = bags = 0
    while True:
        group = find(graph)
        if not group:
            return PassResult.of({"groups": groups, "bags": bags})
        join(graph, group)
        groups, bags = groups + 1, bags + len(group)


def find(graph: Graph) -> tuple[Node, ...]:
    """The first two or more bags that may be one op, in the order in which they are read; else empty."""
    by_kind: dict[_Kind, list[Node]] = {}
    for bag in _in_reading_order(graph):
        by_kind.setdefault(_kind(bag), []).append(bag)
    paths = _Paths.of(graph)
    for bags in by_kind.values():
        for position, first in enumerate(bags):
            group = [first]
            for bag in bags[position + 1 :]:
                if may_join(group, bag, paths):
                    group.append(bag)
            if len(group) > 1:
                return tuple(group)
    return ()


def may_join(group: Sequence[Node], bag: Node, paths: _Paths) -> bool:
    """Whether the bag can be computed together with the group.

    Dtype, width, number of bags and the bits of quantised tables must be equal, and no path may run between
    any two of them, or the joined op would depend on itself.
    """
    if len(group) >= TABLES_MAX or _kind(bag) != _kind(group[0]):
        return False
    return not any(paths.run_between(bag, other) for other in group)


def join(graph: Graph, group: tuple[Node, ...]) -> Node:
    """Replace the bags by one group and a `select` for each."""
    first = group[0]
    made = graph.add(
        f"{first.op.name}_group",
        (
            tuple(one(bag.operands[0]) for bag in group),
            tuple(one(bag.operands[1]) for bag in group),
            _column(group, 2),
            _column(group, 3),
        ),
        _options(group) if first.is_op("embedding_bag") else _quantized_options(group),
        name="bags",
        source=first.source,
        place=first,
    )
    for position, bag in enumerate(group):
        part = graph.add("select", (made,), {"dim": 1, "index": position}, source=bag.source, place=bag)
        graph.replace(bag, part)
    return made


def _column(group: tuple[Node, ...], position: int) -> Operand[Node]:
    """One optional operand of all bags; no list at all where none has it."""
    items = tuple(optional(bag.operands[position]) for bag in group)
    return items if any(item is not None for item in items) else ()


def _kind(bag: Node) -> _Kind:
    """What must be equal in a group; 0 bits where rows are not quantised."""
    return bag.op.name, bag.type, bag.attributes.int("bits") if "bits" in bag.attributes else 0


def _quantized_options(group: tuple[Node, ...]) -> dict[str, Attribute]:
    lasts = tuple(bag.attributes.bool("include_last_offset") for bag in group)
    return {"bits": group[0].attributes.int("bits"), "include_last_offset": lasts if any(lasts) else ()}


def _options(group: tuple[Node, ...]) -> dict[str, Attribute]:
    """The options that differ from the default in at least one bag."""
    modes = tuple(bag.attributes.str("mode") for bag in group)
    lasts = tuple(bag.attributes.bool("include_last_offset") for bag in group)
    padding = tuple(bag.attributes.int("padding_idx") for bag in group)
    return {
        "modes": modes if any(mode != "sum" for mode in modes) else (),
        "include_last_offset": lasts if any(lasts) else (),
        "padding_idx": padding if any(index != -1 for index in padding) else (),
    }


def _in_reading_order(graph: Graph) -> list[Node]:
    """All bags: first those that a reader takes in its list, in the order of the list, then the others."""
    bags: dict[Node, None] = {}
    for op in _READERS:
        for node in graph.nodes:
            if node.is_op(op):
                bags.update(dict.fromkeys(_bag_operands(node)))
    bags.update({node: None for node in graph.nodes if node.is_op(*SINGLE_BAG_OPS)})
    return list(bags)


def _bag_operands(node: Node) -> Iterator[Node]:
    """The bags in the list of a reader, also those behind views."""
    for operand in cast("tuple[Node, ...]", node.operands[0]):
        value = operand
        while value.is_op("view", "select", "slice", "expand"):
            value = one(value.operands[0])
        if value.is_op(*SINGLE_BAG_OPS):
            yield value
