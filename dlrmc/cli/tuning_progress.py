"""Progress of the tuner on a terminal; nothing where standard error is none."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from dlrmc.cli.log_handlers import handled_by

_LOGGER_NAME = "dlrmc.tuning"


@contextlib.contextmanager
def shown_tuning(console: Console | None = None) -> Iterator[None]:
    """Show the steps that the tuner logs: kernel k of n, the best time so far, and the time left.

    Args:
        console: default is standard error.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn())
    with Progress(*columns, console=console, transient=True) as bar, drawn_steps(bar):
        yield


@contextlib.contextmanager
def drawn_steps(bar: Progress) -> Iterator[None]:
    """Draw the tuner's steps in a display that is open already: two at a time would disturb each other."""
    # Steps are logged for this handler only; others would print a line for each.
    with handled_by(_StepHandler(bar), _LOGGER_NAME, logging.DEBUG):
        yield


class _StepHandler(logging.Handler):
    """Draws records that carry a `TuningStep`; warnings are printed above the bar."""

    def __init__(self, bar: Progress) -> None:
        super().__init__()
        self._bar = bar
        self._id = bar.add_task("tuning", total=None, visible=False)

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record."""
        step = getattr(record, "tuning_step", None)
        if step is not None:
            text = (
                f"tuning kernel {step.kernel} of {step.kernels}: best so far {step.best_us:.1f} us, "
                f"about {step.left_s:.0f} s left"
            )
            self._bar.update(
                self._id, description=text, total=step.count, completed=step.done, visible=step.left_s > 0
            )
        elif record.levelno >= logging.WARNING:
            self._bar.console.print(record.getMessage(), markup=False)
