"""What the compiler logs, as lines on standard error: the target that it chose, what it passed over."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

_LOGGER_NAME = "dlrmc"


@contextlib.contextmanager
def shown_notes() -> Iterator[None]:
    """Print records of level INFO and above, each text once; other handlers do not see them meanwhile."""
    logger = logging.getLogger(_LOGGER_NAME)
    level, propagates = logger.level, logger.propagate
    handler = _NoteHandler(logging.INFO)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


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
