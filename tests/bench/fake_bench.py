"""A clock that a test turns, a bench on the CPU, variants that do what a test needs, and ready-made rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from dlrmc.bench.gpu_access import ALONE, GpuAccess
from dlrmc.bench.machine import Machine
from dlrmc.bench.records import OK, Row
from dlrmc.bench.sweep import Bench
from dlrmc.bench.timing import Schedule
from dlrmc.bench.variants import Variant
from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import Work

MACHINE = Machine("TestGPU", "1.2", "2.11.0", "14.2.0", "0.1.0+src.0123456789")
SHORT = Schedule(warm_ups=1, rounds=2, calls=2, back_to_back=2)


@dataclass
class FakeMark:
    """Takes the device's time when it is recorded."""

    timer: FakeTimer
    at_us: float = -1.0

    def record(self) -> None:
        self.at_us = self.timer.device_us


@dataclass
class FakeTimer:
    """Device and host clocks that only `spend` moves; `synchronize` lets the host catch up."""

    device_us: float = 0.0
    host_us: float = 0.0
    log: list[str] = field(default_factory=list)

    def spend(self, device_us: float, host_us: float = 0.0) -> None:
        self.device_us += device_us
        self.host_us += host_us
        self.log.append("call")

    def mark(self) -> FakeMark:
        return FakeMark(self)

    def elapsed_us(self, start: FakeMark, end: FakeMark) -> float:
        assert self.log[-1] == "wait", "a mark was read before the device was done"
        return end.at_us - start.at_us

    def synchronize(self) -> None:
        self.host_us = max(self.host_us, self.device_us)
        self.log.append("wait")

    def now_us(self) -> float:
        return self.host_us


def cpu_bench(run: str = "run-1", timer: FakeTimer | None = None, gpu: GpuAccess = ALONE) -> Bench:
    return Bench(torch.device("cpu"), timer or FakeTimer(), MACHINE, SHORT, run, gpu)


def variant(name: str, prepare: Callable[[Work], Runner], **facts: Any) -> Variant:
    return Variant(name, name.title(), prepare, **facts)


def eager_like(work: Work) -> Runner:
    return Runner(work.run_eager, compile_s=0.25)


def failing(work: Work) -> Runner:
    raise RuntimeError("out of luck\nsecond line")


def stale(work: Work) -> Runner:
    """Gives the result of the first request for ever."""
    work.load(work.requests[0])
    result = work.run_eager()
    return Runner(lambda: result)


def row(variant: str = "dlrmc", wall_us: float | None = 10.0, **changes: Any) -> Row:
    """A row of the seed's kind, for tests of files and summaries."""
    base = Row(
        run="run-1",
        model="dlrm",
        variant=variant,
        precision="fp32",
        num_cat=2,
        batch=8,
        dim=16,
        bag=2,
        rows=4096,
        dense=3,
        bottom="64",
        top="64-32-1",
        event_us=None if wall_us is None else wall_us + 5,
        wall_us=wall_us,
        compile_s=1.5,
        export_s=0.0,
        max_abs_error=1e-7,
        max_rel_error=2e-7,
        eager_abs_error=0.0,
        status=OK,
        note="",
        tune="off",
        matmul_precision="highest",
        date="2026-01-02T03:04:05+00:00",
        **dataclasses.asdict(MACHINE),
    )
    return dataclasses.replace(base, **changes)
