"""A cursor over the tokens of IR text, and the errors that point at one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dlrmc.errors import ParseError
from dlrmc.ir.tokens import GRAMMAR_HINT, Token, tokenize

T = TypeVar("T")


class Cursor:
    """The next token, and what a recursive descent asks of it."""

    def __init__(self, text: str, file: str) -> None:
        self._lines = text.split("\n")
        self._file = file
        self._tokens = tuple(tokenize(text, file))
        self._position = 0

    @property
    def next(self) -> Token:
        """The token that is taken next; at the end of the text, one of kind "end"."""
        return self._tokens[self._position]

    def at(self, text: str) -> bool:
        """Whether the next token is this mark or word."""
        return self.next.text == text and self.next.kind != "end"

    def at_kind(self, kind: str) -> bool:
        """Whether the next token is of this kind."""
        return self.next.kind == kind

    def take(self) -> Token:
        """The next token, which the cursor passes; the end of the text is never passed."""
        token = self.next
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def accept(self, text: str) -> bool:
        """Pass the next token if it is this mark or word; whether it was."""
        if not self.at(text):
            return False
        self.take()
        return True

    def expect(self, text: str) -> Token:
        """Pass this mark or word.

        Raises:
            ParseError: where something else stands there.
        """
        if not self.at(text):
            raise self.error(repr(text))
        return self.take()

    def expect_kind(self, kind: str, what: str) -> Token:
        """Pass a token of this kind, which the error calls `what`.

        Raises:
            ParseError: where a token of another kind stands there.
        """
        if not self.at_kind(kind):
            raise self.error(what)
        return self.take()

    def separated(self, item: Callable[[], T], closing: str) -> tuple[T, ...]:
        """Items with commas between them, one after the last allowed, and then `closing`, which is passed.

        Raises:
            ParseError: where neither a comma nor `closing` follows an item.
        """
        items: list[T] = []
        while not self.accept(closing):
            items.append(item())
            if not self.accept(",") and not self.at(closing):
                raise self.error(f"',' or {closing!r}")
        return tuple(items)

    def error(
        self, expected: str, token: Token | None = None, *, found: str = "", hint: str = ""
    ) -> ParseError:
        """The error at a token, to be raised by the caller: the next token where none is given."""
        at = token or self.next
        quoted = at.text if at.kind == "end" else repr(at.text)
        return ParseError(
            f"{self._file}:{at.line}:{at.column}",
            found=found or quoted,
            expected=expected,
            hint=hint or GRAMMAR_HINT,
            context=[self._lines[at.line - 1], " " * (at.column - 1) + "^"],
        )
