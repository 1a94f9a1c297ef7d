from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from dlrmc.bench.gpu_access import Turn
from dlrmc.bench.gpu_turns import GpuTurns


@dataclass
class Table:
    """Members around a GPU that only counts who may use it."""

    log: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.turns = GpuTurns(
            grant=lambda member: self.log.append(("grant", member)),
            stop=lambda members: self.log.extend(("stop", member) for member in members),
            go_on=lambda member: self.log.append(("go on", member)),
        )
        for member in (0, 1, 2):
            self.turns.join(member)

    def told(self) -> list[tuple[str, int]]:
        """What was said since the last question."""
        told, self.log = self.log, []
        return told


def test_one_at_a_time_first_come_first_served() -> None:
    table = Table()
    for member in (2, 0, 1):
        table.turns.handle(member, Turn.TAKE)
    assert table.told() == [("grant", 2)]
    table.turns.handle(2, Turn.GIVE)
    assert table.told() == [("grant", 0)]
    table.turns.handle(2, Turn.TAKE)
    table.turns.handle(0, Turn.GIVE)
    assert table.told() == [("grant", 1)]


def test_in_a_quiet_turn_all_others_stand_still() -> None:
    table = Table()
    table.turns.handle(1, Turn.TAKE)
    table.told()
    table.turns.handle(1, Turn.QUIET)
    assert table.told() == [("stop", 0), ("stop", 2), ("grant", 1)]
    table.turns.join(3)
    assert table.told() == [("stop", 3)]
    table.turns.handle(1, Turn.LOUD)
    assert table.told() == [("go on", 0), ("go on", 2), ("go on", 3)]
    table.turns.join(4)
    assert table.told() == []


def test_a_turn_that_ends_is_loud_again() -> None:
    table = Table()
    table.turns.handle(1, Turn.TAKE)
    table.turns.handle(1, Turn.QUIET)
    table.told()
    table.turns.handle(1, Turn.GIVE)
    assert table.told() == [("go on", 0), ("go on", 2)]


def test_who_leaves_takes_nothing_along() -> None:
    table = Table()
    table.turns.handle(1, Turn.TAKE)
    table.turns.handle(1, Turn.QUIET)
    table.turns.handle(0, Turn.TAKE)
    table.turns.handle(2, Turn.TAKE)
    table.told()
    table.turns.leave(0)
    assert table.told() == []
    table.turns.leave(1)
    assert table.told() == [("go on", 2), ("grant", 2)]
    table.turns.leave(7)
    assert table.told() == []


@pytest.mark.parametrize("turn", [Turn.GIVE, Turn.QUIET, Turn.LOUD])
def test_only_the_holder_can_use_its_turn(turn: Turn) -> None:
    table = Table()
    table.turns.handle(1, Turn.TAKE)
    with pytest.raises(ValueError, match="by member 0, the turn is of 1"):
        table.turns.handle(0, turn)
