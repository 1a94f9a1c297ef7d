"""A handler of a command's own for what a logger of the library tells."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def handled_by(handler: logging.Handler, name: str, level: int) -> Iterator[None]:
    """Records of a logger from a level on go to this handler, and to no other meanwhile."""
    logger = logging.getLogger(name)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
