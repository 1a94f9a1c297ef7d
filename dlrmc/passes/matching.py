"""Finding a pattern at a node: backtracking over lists and over the two orders of a commutative op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Operand
from dlrmc.ir.types import DType, TensorType, TupleType
from dlrmc.passes.pattern import (
    Absent,
    Item,
    Line,
    OperandPattern,
    Pattern,
    Run,
    TypePattern,
    Value,
    Variable,
)

COMMUTATIVE = frozenset(
    ("add", "mul", "maximum", "minimum", "eq", "ne", "logical_and", "logical_or")
)  # only ever asked for membership

# Values by name: a node, None for an absent one, a tuple of nodes for a run, an int for a dimension, a tuple
# of ints for a run of dimensions, a dtype, or an attribute's value.
Bindings = Mapping[str, Any]


class Match:
    """What the holes of a pattern stand for, by name; `root` is the node of the last line."""

    __slots__ = ("_bindings", "_graph", "root")

    def __init__(self, graph: Graph, root: Node, bindings: Bindings) -> None:
        self.root = root
        self._graph = graph
        self._bindings = MappingProxyType(dict(bindings))

    def readers(self, node: Node) -> tuple[Node, ...] | None:
        """The nodes that read a value; None where the caller of the program reads it, too."""
        is_output = self._graph.returns(node)
        return None if is_output else self._graph.users(node)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._bindings[name]
        except KeyError:
            raise AttributeError(f"the pattern binds no {name!r}, only {', '.join(self._bindings)}") from None


def matches(pattern: Pattern, graph: Graph, root: Node) -> Iterator[Match]:
    """All the ways in which the pattern's last line stands for `root`."""
    if root.op.name != pattern.root_op:
        return
    for bindings in _match_value(pattern, pattern.root, root, {}):
        yield Match(graph, root, bindings)


def _match_value(pattern: Pattern, name: str, node: Node, bindings: Bindings) -> Iterator[Bindings]:
    if name in bindings:
        if bindings[name] is node:
            yield bindings
        return
    bound = {**bindings, name: node}
    line = pattern.lines.get(name)
    if line is None:
        yield bound
        return
    if line.op and line.op != node.op.name:
        return
    for next_bindings in _match_head(line, node, bound):
        if not line.op:
            yield next_bindings
            continue
        for operands in _orders(line):
            yield from _match_operands(pattern, operands, node.operands, next_bindings)


def _match_head(line: Line, node: Node, bindings: Bindings) -> Iterator[Bindings]:
    """Type and attributes, which match in at most one way."""
    bound: Bindings | None = bindings
    if line.type is not None:
        bound = (
            None if isinstance(node.result_type, TupleType) else _match_type(line.type, node.type, bindings)
        )
    for name, wanted in line.attributes.items():
        if bound is None:
            return
        value = node.attributes[name]
        if isinstance(wanted, Variable):
            bound = _bind(bound, wanted.name, value)
        elif wanted != value:
            return
    if bound is not None:
        yield bound


def _match_type(wanted: TypePattern, kept: TensorType, bindings: Bindings) -> Bindings | None:
    if isinstance(wanted.dtype, DType):
        bound: Bindings | None = bindings if wanted.dtype is kept.dtype else None
    else:
        bound = _bind(bindings, wanted.dtype.name, kept.dtype)
    runs = sum(isinstance(dim, Run) for dim in wanted.dims)
    extra = kept.rank - (len(wanted.dims) - runs)
    if extra < 0 or (extra > 0 and not runs):
        return None
    position = 0
    for dim in wanted.dims:
        if bound is None:
            return None
        width = extra if isinstance(dim, Run) else 1
        sizes = kept.shape[position : position + width]
        position += width
        if isinstance(dim, Run):
            bound = _bind(bound, dim.name, sizes)
        elif isinstance(dim, Variable):
            bound = _bind(bound, dim.name, sizes[0])
        elif dim != sizes[0]:
            return None
    return bound


def _bind(bindings: Bindings, name: str, value: object) -> Bindings | None:
    if name in bindings:
        return bindings if bindings[name] == value else None
    return {**bindings, name: value}


def _orders(line: Line) -> Iterator[tuple[OperandPattern, ...]]:
    yield line.operands
    if line.op in COMMUTATIVE:
        yield (line.operands[1], line.operands[0])


def _match_operands(
    pattern: Pattern, wanted: tuple[OperandPattern, ...], kept: tuple[Operand[Node], ...], bindings: Bindings
) -> Iterator[Bindings]:
    if not wanted:
        yield bindings
        return
    for bound in _match_operand(pattern, wanted[0], kept[0], bindings):
        yield from _match_operands(pattern, wanted[1:], kept[1:], bound)


def _match_operand(
    pattern: Pattern, wanted: OperandPattern, kept: Operand[Node], bindings: Bindings
) -> Iterator[Bindings]:
    if isinstance(wanted, tuple) or isinstance(kept, tuple):
        if isinstance(wanted, tuple) and isinstance(kept, tuple):
            yield from _match_items(pattern, wanted, kept, bindings)
        return
    yield from _match_item(pattern, wanted, kept, bindings)


def _match_item(
    pattern: Pattern, wanted: Value | Absent, kept: Node | None, bindings: Bindings
) -> Iterator[Bindings]:
    if isinstance(wanted, Absent):
        if kept is None:
            yield bindings
        return
    if kept is not None:
        yield from _match_value(pattern, wanted.name, kept, bindings)
    elif wanted.may_be_absent and bindings.get(wanted.name) is None:
        yield {**bindings, wanted.name: None}


def _match_items(
    pattern: Pattern, wanted: tuple[Item, ...], kept: tuple[Node | None, ...], bindings: Bindings
) -> Iterator[Bindings]:
    if not wanted:
        if not kept:
            yield bindings
        return
    head, rest = wanted[0], wanted[1:]
    if not isinstance(head, Run):
        if kept:
            for bound in _match_item(pattern, head, kept[0], bindings):
                yield from _match_items(pattern, rest, kept[1:], bound)
        return
    longest = len(kept) - sum(not isinstance(item, Run) for item in rest)
    shortest = longest if not any(isinstance(item, Run) for item in rest) else 0
    for length in range(shortest, longest + 1):
        bound = _bind(bindings, head.name, kept[:length])
        if bound is not None and all(node is not None for node in kept[:length]):
            yield from _match_items(pattern, rest, kept[length:], bound)
