"""Progress of a sweep on a terminal; nothing where standard error is none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from dlrmc.bench.progress import Progress
from dlrmc.cli.tuning_progress import drawn_steps

if TYPE_CHECKING:
    from rich.progress import TaskID

    from dlrmc.bench.records import Row
    from dlrmc.bench.tasks import Task
    from dlrmc.bench.variants import Variant


@contextlib.contextmanager
def shown_progress() -> Iterator[Progress]:
    """Progress on standard error where that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Progress()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar, drawn_steps(bar):
        yield _BarProgress(bar)


class _BarProgress(Progress):
    """A bar over cells that names what is being measured, and the last result."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._id: TaskID = bar.add_task("starting", total=1)
        self._cell, self._last = "", ""

    def cell(self, task: Task, number: int, count: int) -> None:
        """Show which cell begins."""
        cell = task.cell
        self._cell = f"{cell.num_cat} tables, batch {cell.batch}, {task.options.precision}"
        self._bar.update(self._id, total=count, completed=number - 1, description=self._cell)

    def variant(self, variant: Variant) -> None:
        """Show what is being measured."""
        self._bar.update(self._id, description=f"{self._cell}: {variant.title} {self._last}")

    def row(self, row: Row) -> None:
        """Show the result, and keep it for the next line."""
        found = f"{row.wall_us:.1f} us" if row.wall_us is not None else row.status[:40]
        self._last = f"(last: {row.variant} at {row.num_cat} x {row.batch} {found})"
        self._bar.update(self._id, description=f"{self._cell} {self._last}")
