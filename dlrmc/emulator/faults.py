"""What can go wrong while an emulated kernel runs."""

from __future__ import annotations

from dlrmc.errors import DlrmcError

SOURCE_NAME = "kernels.cu"


class EmulationError(DlrmcError):
    """A kernel did what it must not: a deadlock, a bad address, a failed assertion, an overrun."""


class ThreadOrderError(EmulationError):
    """A kernel's result depends on the order in which its threads run: a barrier is missing."""


class SanitizerError(EmulationError):
    """AddressSanitizer or UndefinedBehaviorSanitizer stopped a kernel; `report` is its text."""

    def __init__(self, place: str, *, found: str, report: str, hint: str = "") -> None:
        self.report = report
        super().__init__(place, found=found, hint=hint, context=report.splitlines())


def launch_error(text: str, source: str) -> EmulationError:
    """The error of a launch from the runtime's text, `LINE|PLACE|WHAT` and lines of detail.

    Args:
        text: as `runtime/report.h` writes it; line 0 is an unknown line.
        source: the module's source, of which the error quotes the line.
    """
    first, *details = text.split("\n")
    line, place, found = first.split("|", 2)
    context = details + quote_lines(source, int(line), around=1)
    where = f", line {line}" if line != "0" else ""
    return EmulationError(place + where, found=found, context=context)


def quote_lines(source: str, line: int, *, around: int) -> list[str]:
    """The line and `around` lines on each side, numbered, the line itself marked; none for line 0."""
    lines = source.splitlines()
    if not 1 <= line <= len(lines):
        return []
    numbers = range(max(1, line - around), min(len(lines), line + around) + 1)
    return [f"{'>' if n == line else ' '} {SOURCE_NAME}:{n}: {lines[n - 1]}" for n in numbers]
