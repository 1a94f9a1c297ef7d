from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dlrmc.bench.timing import PROTOCOL, Schedule, measure
from tests.bench.fake_bench import FakeTimer


def test_the_protocol_is_the_documented_one() -> None:
    assert Schedule(warm_ups=10, rounds=5, calls=20, back_to_back=200) == PROTOCOL


def test_calls_and_waits_come_in_the_order_of_the_protocol() -> None:
    timer = FakeTimer()
    measure(lambda: timer.spend(1), timer)
    expected = ["call"] * 10 + ["wait"] + (["call"] * 20 + ["wait"]) * 5 + ["call"] * 200 + ["wait"]
    assert timer.log == expected


def test_event_is_the_median_of_the_medians_of_rounds() -> None:
    timer = FakeTimer()
    # Rounds with the medians 2, 30 and 4; one call of the first is far off.
    costs = iter([9, 1, 2, 1000, 30, 30, 30, 4, 4, 4, 5, 5])
    schedule = Schedule(warm_ups=1, rounds=3, calls=3, back_to_back=2)
    times = measure(lambda: timer.spend(next(costs)), timer, schedule)
    assert times.event_us == 4


def test_wall_takes_in_what_the_device_does_after_the_last_call() -> None:
    timer = FakeTimer()
    times = measure(lambda: timer.spend(7, host_us=1), timer, Schedule(0, 1, 1, 100))
    assert times.wall_us == pytest.approx(7)


def test_wall_is_the_hosts_where_the_device_is_faster() -> None:
    timer = FakeTimer()
    times = measure(lambda: timer.spend(1, host_us=3), timer, Schedule(0, 1, 1, 100))
    assert times.wall_us == pytest.approx(3)


def test_without_events_no_mark_is_set() -> None:
    timer = FakeTimer()
    timer.mark = None  # type: ignore[assignment]
    assert measure(lambda: timer.spend(1), timer, has_events=False).event_us is None


def test_no_garbage_is_collected_meanwhile_and_it_is_again_afterwards() -> None:
    timer = FakeTimer()
    seen = []

    def call() -> None:
        seen.append(gc.isenabled())
        timer.spend(1)
        if len(seen) == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        measure(call, timer, Schedule(warm_ups=1, rounds=1, calls=5, back_to_back=1))
    assert seen == [False] * 3
    assert gc.isenabled()


def test_nobody_else_uses_the_machine_from_the_first_warm_up_to_the_last_call() -> None:
    timer = FakeTimer()

    @contextmanager
    def quiet() -> Iterator[None]:
        timer.log.append("quiet")
        yield
        timer.log.append("loud")

    measure(lambda: timer.spend(1), timer, Schedule(1, 1, 1, 1), quiet=quiet)
    assert timer.log == ["quiet", "call", "wait", "call", "wait", "call", "wait", "loud"]
