"""What the lines of a pattern must be together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from dlrmc.errors import ParseError
from dlrmc.passes.pattern import Absent, Item, Line, Pattern, Run, Value, Variable


def checked_pattern(lines: Mapping[str, Line], rule: str) -> Pattern:
    """The pattern of these lines, the last of which is the root.

    Raises:
        ParseError: there is no root, a line that nothing reads, or a name for two kinds of things.
    """
    root = next(reversed([*lines]), "")
    if not root or not lines[root].op:
        raise ParseError(f"rule {rule}", found="no op on the last line", expected="the root of the match")
    _check_connected(lines, root, rule)
    _check_names(lines, rule)
    return Pattern(MappingProxyType(dict(lines)), root)


def _check_connected(lines: Mapping[str, Line], root: str, rule: str) -> None:
    """Every line is read by a later one."""
    read = {item.name for line in lines.values() for item in _items(line) if isinstance(item, Value)}
    for name in lines:
        if name != root and name not in read:
            raise ParseError(f"rule {rule}", found=f"no line reads %{name}", expected="one connected pattern")


def _check_names(lines: Mapping[str, Line], rule: str) -> None:
    """No name stands for two kinds of things, and no value with an op may be absent."""
    kinds = {"root": "word of Match", "readers": "word of Match"}
    for name, kind in _names(lines):
        if kinds.setdefault(name, kind) != kind:
            raise ParseError(
                f"rule {rule}", found=f"{name!r} is a {kinds[name]} and a {kind}", expected="one kind a name"
            )
    for item in (item for line in lines.values() for item in _items(line)):
        if isinstance(item, Value) and item.may_be_absent and item.name in lines:
            raise ParseError(
                f"rule {rule}", found=f"?%{item.name} with a line of its own", expected="a free value"
            )


def _names(lines: Mapping[str, Line]) -> Iterator[tuple[str, str]]:
    for line in lines.values():
        yield line.name, "value"
        for item in _items(line):
            if not isinstance(item, Absent):
                yield item.name, "list" if isinstance(item, Run) else "value"
        for attribute in line.attributes.values():
            if isinstance(attribute, Variable):
                yield attribute.name, "attribute"
        if line.type is not None:
            if isinstance(line.type.dtype, Variable):
                yield line.type.dtype.name, "dtype"
            for dim in line.type.dims:
                if not isinstance(dim, int):
                    yield dim.name, "run of dimensions" if isinstance(dim, Run) else "dimension"


def _items(line: Line) -> list[Item]:
    items: list[Item] = []
    for operand in line.operands:
        items.extend(operand if isinstance(operand, tuple) else (operand,))
    return items
