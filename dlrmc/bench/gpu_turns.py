"""Gives out the GPU to processes that share it: one at a time, first come, first served."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from dlrmc.bench.gpu_access import Turn

Member = int


class GpuTurns:
    """Whose turn it is.

    A quiet turn stops all other members until it is loud again, so that neither their compilers on the CPU
    nor what they have launched is in the way of times that count. Members that join meanwhile are stopped,
    too.

    Args:
        grant: tells a member that what it asked for is granted.
        stop: makes members stand still, and returns when they do.
        go_on: undoes `stop`.
    """

    def __init__(
        self,
        grant: Callable[[Member], None],
        stop: Callable[[Sequence[Member]], None],
        go_on: Callable[[Member], None],
    ) -> None:
        self._grant, self._stop, self._go_on = grant, stop, go_on
        self._members: list[Member] = []
        self._waiting: deque[Member] = deque()
        self._holder: Member | None = None
        self._is_quiet = False

    def join(self, member: Member) -> None:
        """A member begins."""
        self._members.append(member)
        if self._is_quiet:
            self._stop([member])

    def leave(self, member: Member) -> None:
        """A member has ended, whatever it had or wanted."""
        if member in self._waiting:
            self._waiting.remove(member)
        if self._holder == member:
            self._end_turn()
        if member in self._members:
            self._members.remove(member)

    def handle(self, member: Member, turn: Turn) -> None:
        """Do what a member asks for; requests are answered when they are granted."""
        if turn is Turn.TAKE:
            self._waiting.append(member)
            self._grant_next()
        elif member != self._holder:
            raise ValueError(f"{turn} by member {member}, the turn is of {self._holder}")
        elif turn is Turn.GIVE:
            self._end_turn()
        elif turn is Turn.QUIET:
            self._be_quiet()
            self._grant(member)
        else:
            self._be_loud()

    def _grant_next(self) -> None:
        if self._holder is None and self._waiting:
            self._holder = self._waiting.popleft()
            self._grant(self._holder)

    def _end_turn(self) -> None:
        self._be_loud()
        self._holder = None
        self._grant_next()

    def _be_quiet(self) -> None:
        self._is_quiet = True
        self._stop([member for member in self._members if member != self._holder])

    def _be_loud(self) -> None:
        if not self._is_quiet:
            return
        self._is_quiet = False
        for member in self._members:
            if member != self._holder:
                self._go_on(member)
