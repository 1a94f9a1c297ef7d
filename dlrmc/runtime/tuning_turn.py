"""Lets the one who starts a compilation say when the tuner may have the GPU: other processes may share it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

Turn = Callable[[], AbstractContextManager[None]]
_TURN: ContextVar[Turn] = ContextVar("dlrmc_tuning_turn", default=nullcontext)


def tuning_turn() -> AbstractContextManager[None]:
    """Entered around the GPU work of one measurement, not around its compilation."""
    return _TURN.get()()


@contextmanager
def tuning_within(turn: Turn) -> Iterator[None]:
    """Every measurement of the tuner started within is made in a context of `turn`."""
    token = _TURN.set(turn)
    try:
        yield
    finally:
        _TURN.reset(token)
