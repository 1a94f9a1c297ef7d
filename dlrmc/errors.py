"""The error classes of dlrmc, and how they print.

Every error says four things: the place, what was found, what was expected, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class DlrmcError(Exception):
    """Base of every error that dlrmc raises on purpose.

    Args:
        place: where it happened, in the user's own words: a source line, an input's name, a file and line.
        found: what was there.
        expected: what should have been there.
        hint: what to do about it.
        context: lines of IR or of a log around the fault, printed as they are.
    """

    def __init__(
        self, place: str, *, found: str, expected: str = "", hint: str = "", context: Sequence[str] = ()
    ) -> None:
        self.place = place
        self.found = found
        self.expected = expected
        self.hint = hint
        self.context = tuple(context)
        super().__init__(self.render())

    def render(self) -> str:
        """The message, one fact a line."""
        lines = [f"{self.place}: {self.found}"]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.hint:
            lines.append(f"  to mend: {self.hint}")
        lines.extend(f"  | {line}" for line in self.context)
        return "\n".join(lines)


class FrontendError(DlrmcError):
    """An exported program cannot be imported."""


@dataclass(frozen=True)
class UnsupportedOp:
    """One op that the importer does not know: its target, the node's name and the user's source line."""

    target: str
    node: str
    source: str
    reason: str = ""

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.target} (%{self.node}){reason}\n      at {self.source or 'an unknown source line'}"


class UnsupportedOpsError(FrontendError):
    """All the unsupported ops of one program, each with the user's source line."""

    def __init__(self, program: str, items: Sequence[UnsupportedOp]) -> None:
        self.items = tuple(items)
        super().__init__(
            program,
            found=f"{len(self.items)} op{'s' if len(self.items) != 1 else ''} that dlrmc cannot compile",
            expected="ops of the table in docs/ir.md",
            hint="replace the op in the model, or add it: CONTRIBUTING.md, 'Add an op'",
            context=[str(item) for item in self.items],
        )


class TypeRuleError(DlrmcError):
    """The operands or attributes of an op do not fit its card."""


class ParseError(DlrmcError):
    """A text is not IR; the place is file:line:column."""


class VerifyError(DlrmcError):
    """A graph breaks a numbered invariant."""


class PassError(DlrmcError):
    """A pass or a rewrite rule did what it must not."""


class CodegenError(DlrmcError):
    """A kernel body cannot be emitted."""


class CompileError(DlrmcError):
    """NVRTC or the C++ compiler refused a source."""


class InputError(DlrmcError):
    """The arguments of a call do not fit the exported program."""


class BoundsError(DlrmcError):
    """An id or an offset was out of range.

    Args:
        place: the input and the call.
        input: the user's own name of the tensor that holds the value: `ids[3]`.
        position: where in it the value stands, counted over its elements.
        value: the id or offset found.
        limit: rows of the table, size of the dimension, or number of ids.
        call: number of the call, from 1.
    """

    def __init__(  # noqa: PLR0913  (an error carries its facts by name)
        self,
        place: str,
        *,
        found: str,
        expected: str = "",
        hint: str = "",
        input: str = "",
        position: int = -1,
        value: int = 0,
        limit: int = 0,
        call: int = 0,
    ) -> None:
        self.input = input
        self.position = position
        self.value = value
        self.limit = limit
        self.call = call
        super().__init__(place, found=found, expected=expected, hint=hint)


class OptionError(DlrmcError):
    """An option is unknown or its value is out of range."""


class CacheWarning(UserWarning):
    """The disk cache could not be used as asked; the compile went on without it."""


class UnusedInputWarning(UserWarning):
    """An input of the exported program is read by no op."""


class SpecialisationWarning(UserWarning):
    """More sizes of a dynamic program are in use than are kept; sizes that return are built again."""


class FallbackWarning(UserWarning):
    """A graph of `torch.compile` cannot be compiled; it runs in eager mode."""
