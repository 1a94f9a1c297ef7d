from __future__ import annotations

import threading

import pytest

from dlrmc.bench.gpu_access import ALONE, SharedGpuAccess, Turn


class Watched:
    """An access whose requests are granted at once, and written down."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.access = SharedGpuAccess(self._ask, lambda: self.log.append("wait"))

    def _ask(self, turn: Turn) -> None:
        self.log.append(turn.value)


def test_the_device_is_done_before_the_turn_is_given_back() -> None:
    watched = Watched()
    with watched.access.held():
        watched.log.append("work")
    assert watched.log == ["take", "work", "wait", "give"]


def test_a_nested_turn_is_the_same_turn() -> None:
    watched = Watched()
    with watched.access.held(), watched.access.held():
        pass
    assert watched.log == ["take", "wait", "give"]


def test_a_compiler_measures_in_turns_of_its_own() -> None:
    watched = Watched()
    with watched.access.held(), watched.access.released():
        watched.log.append("compile")
        with watched.access.held():
            watched.log.append("benchmark")
        watched.log.append("compile")
    once = ["take", "wait", "give"]
    assert watched.log == [*once, "compile", "take", "benchmark", "wait", "give", "compile", *once]


def test_outside_a_turn_there_is_nothing_to_release() -> None:
    watched = Watched()
    with watched.access.released():
        pass
    assert watched.log == []


def test_quiet_is_within_a_turn() -> None:
    watched = Watched()
    with watched.access.quiet():
        pass
    assert watched.log == ["take", "quiet", "loud", "wait", "give"]


def test_a_thread_of_a_compiler_waits_for_the_other_and_then_has_the_turn() -> None:
    watched = Watched()

    def benchmark() -> None:
        with watched.access.held():
            watched.log.append("benchmark")

    with watched.access.held():
        thread = threading.Thread(target=benchmark)
        thread.start()
        thread.join(0.05)
        assert "benchmark" not in watched.log
        with watched.access.released():
            thread.join(5)
            assert watched.log[-3:] == ["benchmark", "wait", "give"]
    assert watched.log.count("take") == watched.log.count("give") == 3


def test_a_device_that_does_not_answer_does_not_keep_the_turn() -> None:
    log: list[Turn] = []

    def fail() -> None:
        raise RuntimeError("an illegal memory access was encountered")

    access = SharedGpuAccess(log.append, fail)
    with pytest.raises(RuntimeError, match="illegal"), access.held(), access.released():
        pass
    assert log == [Turn.TAKE, Turn.GIVE]


def test_a_process_that_is_alone_waits_for_nobody() -> None:
    assert ALONE.is_alone
    with ALONE.quiet(), ALONE.held(), ALONE.released():
        pass
