"""The protocol: warm-ups, rounds of calls between pairs of events, then calls back to back."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch


@dataclass(frozen=True)
class Schedule:
    """How often a variant is called.

    Args:
        warm_ups: calls before anything is timed.
        rounds: rounds whose medians are taken.
        calls: calls of a round, each between two events.
        back_to_back: calls with one synchronisation after the last.
    """

    warm_ups: int = 10
    rounds: int = 5
    calls: int = 20
    back_to_back: int = 200


PROTOCOL = Schedule()


@dataclass(frozen=True)
class Times:
    """Microseconds a call: `event_us` is None where the variant's work is on no stream of torch."""

    event_us: float | None
    wall_us: float


class Mark(Protocol):
    """A point in the device's stream of work."""

    def record(self) -> None:
        """Set the mark behind the work issued so far."""
        ...


class Timer(Protocol):
    """Clocks of a device and of its host."""

    def mark(self) -> Any:
        """A new mark."""
        ...

    def elapsed_us(self, start: Any, end: Any) -> float:
        """Device time between two recorded and finished marks."""
        ...

    def synchronize(self) -> None:
        """Wait for all work."""
        ...

    def now_us(self) -> float:
        """The host's clock."""
        ...


class CudaTimer:
    """CUDA events on the current stream of torch."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def mark(self) -> torch.cuda.Event:
        """An event with timing."""
        return torch.cuda.Event(enable_timing=True)

    def elapsed_us(self, start: torch.cuda.Event, end: torch.cuda.Event) -> float:
        """From one event to the other; the resolution is about half a microsecond."""
        return start.elapsed_time(end) * 1000

    def synchronize(self) -> None:
        """Wait for the device."""
        torch.cuda.synchronize(self._device)

    def now_us(self) -> float:
        """The process-wide monotonic clock."""
        return time.perf_counter() * 1e6


@dataclass(frozen=True)
class OtherClock:
    """A timer whose work is on a stream that only the runner can wait for."""

    timer: Timer
    wait: Callable[[], None]

    def mark(self) -> Any:
        """A mark of the device's stream."""
        return self.timer.mark()

    def elapsed_us(self, start: Any, end: Any) -> float:
        """As the timer's."""
        return self.timer.elapsed_us(start, end)

    def synchronize(self) -> None:
        """Wait for the runner's own work."""
        self.wait()

    def now_us(self) -> float:
        """The host's clock."""
        return self.timer.now_us()


def measure(
    call: Callable[[], Any],
    timer: Timer,
    schedule: Schedule = PROTOCOL,
    *,
    has_events: bool = True,
    quiet: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Times:
    """Time a call by the protocol.

    Args:
        call: issues the work of one request.
        timer: clocks; its `synchronize` must wait for that work.
        schedule: how often.
        has_events: whether the work is on the stream that marks are set on.
        quiet: entered around all calls, the warm-ups among them; nobody else may use the machine within.
    """
    with _no_collection(), quiet():
        for _ in range(schedule.warm_ups):
            call()
        timer.synchronize()
        event_us = _event_us(call, timer, schedule) if has_events else None
        return Times(event_us, _wall_us(call, timer, schedule.back_to_back))


def _event_us(call: Callable[[], Any], timer: Timer, schedule: Schedule) -> float:
    pairs = [(timer.mark(), timer.mark()) for _ in range(schedule.calls)]
    medians: list[float] = []
    for _ in range(schedule.rounds):
        for start, end in pairs:
            start.record()
            call()
            end.record()
        timer.synchronize()
        medians.append(statistics.median(timer.elapsed_us(start, end) for start, end in pairs))
    return statistics.median(medians)


def _wall_us(call: Callable[[], Any], timer: Timer, calls: int) -> float:
    start = timer.now_us()
    for _ in range(calls):
        call()
    timer.synchronize()
    return (timer.now_us() - start) / calls


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection while time is taken, as in the standard library's timeit."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
