"""The tokens of IR text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dlrmc.errors import ParseError
from dlrmc.ir.types import TYPE_PATTERN

GRAMMAR_HINT = "docs/ir.md has the grammar"
_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\r]+|//[^\n]*)
  | (?P<newline>\n)
  | (?P<type>{TYPE_PATTERN})
  | (?P<value>%[A-Za-z0-9_]+)
  | (?P<graph>@[A-Za-z0-9_]+)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<number>[+-]?(?:inf|nan|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(?![A-Za-z0-9_.]))
  | (?P<word>[A-Za-z_][A-Za-z0-9_.-]*)
  | (?P<mark>[=(){{}}\[\],:<>])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind, its text and where it stands (line and column count from 1)."""

    kind: str
    text: str
    line: int
    column: int


def tokenize(text: str, file: str) -> Iterator[Token]:
    """All tokens but spaces, comments and newlines, then one of kind "end".

    Raises:
        ParseError: at a character that starts no token.
    """
    line, line_start, position = 1, 0, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        column = position - line_start + 1
        if match is None:
            raise ParseError(
                f"{file}:{line}:{column}",
                found=f"character {text[position]!r}",
                expected="IR text",
                hint=GRAMMAR_HINT,
                context=[text.split("\n")[line - 1], " " * (column - 1) + "^"],
            )
        kind = match.lastgroup or "space"
        if kind == "newline":
            line, line_start = line + 1, match.end()
        elif kind != "space":
            yield Token(kind, match.group(), line, column)
        position = match.end()
    yield Token("end", "end of file", line, position - line_start + 1)
