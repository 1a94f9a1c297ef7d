"""What the compiler logs, as lines on standard error: the target that it chose, what it passed over."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

from dlrmc.cli.log_handlers import handled_by

_LOGGER_NAME = "dlrmc"


@contextlib.contextmanager
def shown_notes() -> Iterator[None]:
    """Print records of level INFO and above, each text once."""
    with handled_by(_NoteHandler(logging.INFO), _LOGGER_NAME, logging.INFO):
        yield


class _NoteHandler(logging.Handler):
    """Prints `note: ...` or `warning: ...`."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._printed: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        kind = "warning" if record.levelno >= logging.WARNING else "note"
        text = f"{kind}: {record.getMessage()}"
        if text not in self._printed:
            self._printed.append(text)
            print(text, file=sys.stderr)
