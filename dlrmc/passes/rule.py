"""A peephole as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dlrmc.errors import ParseError
from dlrmc.ir.graph import Node
from dlrmc.passes.builder import Builder
from dlrmc.passes.matching import Match
from dlrmc.passes.pattern import Pattern
from dlrmc.passes.pattern_parser import parse_pattern


def _always(_: Match) -> bool:
    return True


@dataclass(frozen=True)
class Rule:
    """A rewrite of a few nodes into others of the same meaning.

    Args:
        name: what becomes what, in dashes.
        why: what is saved.
        match: the pattern, in the notation of the IR (dlrmc/passes/pattern_parser.py); the last line is the
            root, the lines above it are the inside, the names that no line defines are free.
        build: makes the new value; it must have the root's type.
        where: what must hold besides; it sees nodes, dimensions and attributes by their names in the pattern.
        shared: inner values that may also be used outside the match. They are views, which cost nothing, so
            that leaving one in place for its other readers loses nothing. Any other inner value with a
            reader outside keeps the rule from firing.

    Raises:
        ParseError: the pattern is malformed, or `shared` names no inner value.
    """

    name: str
    why: str
    match: str
    build: Callable[[Builder, Match], Node]
    where: Callable[[Match], bool] = _always
    shared: tuple[str, ...] = ()
    pattern: Pattern = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        pattern = parse_pattern(self.match, self.name)
        object.__setattr__(self, "pattern", pattern)
        for name in self.shared:
            if name not in pattern.inner:
                raise ParseError(
                    f"rule {self.name}",
                    found=f"shared={name!r}",
                    expected=f"one of {', '.join(pattern.inner)}",
                )
