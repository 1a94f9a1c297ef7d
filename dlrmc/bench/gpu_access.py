"""Who may use the GPU. Processes that share one take turns: all work on it but compiling needs the turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum


class Turn(Enum):
    """What a process asks of the one that gives out turns (`dlrmc/bench/gpu_turns.py`).

    `TAKE` and `QUIET` are answered when they are granted; `LOUD` and `GIVE` undo them, without an answer.
    """

    TAKE = "take"
    QUIET = "quiet"
    LOUD = "loud"
    GIVE = "give"


class GpuAccess:
    """The access of a process that is alone on its GPU: there is nothing to wait for."""

    is_alone = True

    @contextmanager
    def held(self) -> Iterator[None]:
        """No other process works on the GPU, but for what compilers launch beside their measurements."""
        yield

    @contextmanager
    def released(self) -> Iterator[None]:
        """Within `held`: others may have the GPU meanwhile, as while this process compiles."""
        yield

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """`held`, and the other processes stand still, on the CPU, too: for times that count."""
        yield


ALONE = GpuAccess()


class SharedGpuAccess(GpuAccess):
    """The access of one process of several; its contexts may be nested and used by any thread.

    Args:
        ask: sends a request, and returns when it is granted, where it is one that is answered.
        synchronize: waits until the GPU has done this process's work; called before the turn is given back.
    """

    is_alone = False

    def __init__(self, ask: Callable[[Turn], None], synchronize: Callable[[], None]) -> None:
        self._ask = ask
        self._synchronize = synchronize
        # One thread of this process has the turn at a time; `_owner` is its number.
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """See `GpuAccess.held`."""
        if self._is_mine:
            yield
            return
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def released(self) -> Iterator[None]:
        """See `GpuAccess.released`; threads that a compiler starts can take the turn in the meantime."""
        if not self._is_mine:
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._take()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """See `GpuAccess.quiet`."""
        with self.held():
            self._ask(Turn.QUIET)
            try:
                yield
            finally:
                self._ask(Turn.LOUD)

    @property
    def _is_mine(self) -> bool:
        return self._owner == threading.get_ident()

    def _take(self) -> None:
        self._lock.acquire()
        self._ask(Turn.TAKE)
        self._owner = threading.get_ident()

    def _give(self) -> None:
        """Give the turn back, also where the GPU does not answer any more: others go on."""
        if not self._is_mine:
            return  # an inner context has given it back on its way out
        try:
            self._synchronize()
        finally:
            self._owner = None
            self._ask(Turn.GIVE)
            self._lock.release()
