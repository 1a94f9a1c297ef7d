"""Tables as text that is Markdown, too: a document can take them as they are printed."""

from __future__ import annotations

from collections.abc import Sequence


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Aligned lines; the first `left` columns to the left, the others to the right."""
    widths = [max(3, *(len(line[k]) for line in (head, *rows))) for k in range(len(head))]
    rule = ["-" * width if k < left else "-" * (width - 1) + ":" for k, width in enumerate(widths)]
    return [_line(head, widths, left), _line(rule, widths, left), *(_line(row, widths, left) for row in rows)]


def number(value: float | None, digits: int = 1) -> str:
    """A number with fixed digits; an empty text for None."""
    return "" if value is None else f"{value:.{digits}f}"


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = [
        cell.ljust(width) if k < left else cell.rjust(width)
        for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return f"| {' | '.join(padded)} |"
