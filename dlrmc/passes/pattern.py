"""Patterns: what a rewrite rule looks for, as data.

The text of a pattern is IR with holes; `dlrmc.passes.pattern_parser` reads it and `dlrmc.passes.matching`
finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dlrmc.ir.attributes import Attribute
from dlrmc.ir.types import DType


@dataclass(frozen=True, slots=True)
class Variable:
    """A hole in a type or an attribute: equal names stand for equal things."""

    name: str


@dataclass(frozen=True, slots=True)
class Run:
    """A hole for any number of dimensions, written `*S`, or of list items, written `*%parts`."""

    name: str


@dataclass(frozen=True, slots=True)
class Value:
    """An operand, written `%x`; `?%x` may also be absent."""

    name: str
    may_be_absent: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """An operand that must be absent, written `_`."""


Item = Value | Run | Absent
OperandPattern = Value | Absent | tuple[Item, ...]
DimPattern = int | Variable | Run


@dataclass(frozen=True, slots=True)
class TypePattern:
    """A type with holes, written `T[B,F,16]`: a capital word for the dtype is a hole."""

    dtype: DType | Variable
    dims: tuple[DimPattern, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a pattern.

    `op` is the empty string for a line that only gives a free value its type. `attributes` holds every
    attribute of the card: what is not written has its default, as in IR text, unless the braces end in
    `...`.
    """

    name: str
    op: str
    operands: tuple[OperandPattern, ...]
    attributes: Mapping[str, Attribute | Variable]
    type: TypePattern | None


@dataclass(frozen=True, slots=True)
class Pattern:
    """The lines by the name of the value that they define; the last one is the root."""

    lines: Mapping[str, Line]
    root: str

    @property
    def root_op(self) -> str:
        """The op of the last line."""
        return self.lines[self.root].op

    @property
    def inner(self) -> tuple[str, ...]:
        """The names of the values that the match computes besides its root, root side first."""
        names = [name for name, line in self.lines.items() if line.op and name != self.root]
        return tuple(reversed(names))
