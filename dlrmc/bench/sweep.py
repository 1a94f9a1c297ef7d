"""Measuring variants of cells, one row each. A variant that fails gives a row that says so."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dlrmc.bench.check import Errors, check
from dlrmc.bench.machine import Machine, describe_machine
from dlrmc.bench.records import NO_SIZES, OK, CsvFile, Row, sizes_of
from dlrmc.bench.timing import PROTOCOL, CudaTimer, Schedule, Timer, Times, measure
from dlrmc.bench.variants import Variant
from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import CompileOptions, Work, cell_work
from dlrmc.bench.workload import Cell
from dlrmc.errors import DlrmcError

_MATMUL_PRECISIONS = (("fp32", "highest"), ("tf32", "high"))
_STATUS_LENGTH = 300


@dataclass(frozen=True)
class Bench:
    """Where and how is measured.

    Args:
        device: of all work.
        timer: its clocks.
        machine: facts for the rows.
        schedule: how often variants are called.
        run: identifies the process in the rows.
    """

    device: torch.device
    timer: Timer
    machine: Machine
    schedule: Schedule = PROTOCOL
    run: str = ""

    @classmethod
    def on_gpu(cls, device: torch.device) -> Bench:
        """The protocol on a GPU."""
        started = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
        return cls(device, CudaTimer(device), describe_machine(device), run=f"{started}-{os.getpid()}")


@dataclass(frozen=True)
class Task:
    """One cell in one precision."""

    cell: Cell
    options: CompileOptions
    model: str = "dlrm"

    @property
    def key(self) -> tuple[Any, ...]:
        """As `Row.key`."""
        sizes = sizes_of(self.cell)
        names = ("num_cat", "batch", "dim", "bag", "rows", "dense", "bottom", "top")
        return (self.model, self.options.precision, *(sizes[name] for name in names))


class DeviceLostError(DlrmcError):
    """Nothing more can be measured in this process."""


class Progress:
    """What a sweep tells while it runs; this one keeps silent."""

    def cell(self, task: Task, number: int, count: int) -> None:
        """A cell begins."""

    def variant(self, variant: Variant) -> None:
        """A variant begins."""

    def row(self, row: Row) -> None:
        """A variant is done."""


SILENT = Progress()


def pending(tasks: Sequence[Task], variants: Sequence[Variant], rows: Sequence[Row]) -> tuple[Task, ...]:
    """The tasks that are not complete in the rows.

    A cell is complete when one run has a row of every variant asked for: numbers of different runs are not
    compared with each other. A row that failed counts: it would fail again.
    """
    seen: dict[tuple[Any, ...], dict[str, list[str]]] = {}
    for row in rows:
        seen.setdefault(row.key, {}).setdefault(row.run, []).append(row.variant)
    wanted = {variant.name for variant in variants}
    return tuple(
        task for task in tasks if not any(wanted <= set(names) for names in seen.get(task.key, {}).values())
    )


def sweep(
    bench: Bench,
    tasks: Sequence[Task],
    variants: Sequence[Variant],
    file: CsvFile,
    *,
    max_seconds: float = float("inf"),
    progress: Progress = SILENT,
) -> list[Row]:
    """Measure all tasks in order, each row written when it is there.

    No cell is begun that would end after `max_seconds`, were it to take as long as the longest before it.

    Returns:
        The new rows.

    Raises:
        DeviceLostError: a variant has broken the GPU's context; its row is the last in the file.
    """
    rows: list[Row] = []
    start = time.monotonic()
    longest_s = 0.0
    for number, task in enumerate(tasks, 1):
        begun_s = time.monotonic() - start
        if begun_s + longest_s > max_seconds:
            break
        progress.cell(task, number, len(tasks))
        for row in measure_cell(bench, task, variants, progress):
            rows.append(row)
            file.append(row)
        _free(bench.device)
        longest_s = max(longest_s, time.monotonic() - start - begun_s)
    return rows


def measure_cell(
    bench: Bench, task: Task, variants: Sequence[Variant], progress: Progress = SILENT
) -> Iterator[Row]:
    """One row for each variant of one cell; all failed where the cell itself cannot be made."""
    facts = {"model": task.model, **sizes_of(task.cell)}
    try:
        with torch.no_grad(), matmul_precision(task.options.precision):
            work = cell_work(task.cell, bench.device, task.options)
    except Exception as error:
        for variant in variants:
            yield _row(bench, task.options, variant, facts, status=_failure(error))
        return
    yield from measure_work(bench, work, variants, facts, progress)


def measure_program(
    bench: Bench, name: str, work: Work, variants: Sequence[Variant], progress: Progress = SILENT
) -> Iterator[Row]:
    """One row for each variant that takes any program."""
    general = [variant for variant in variants if variant.is_general]
    yield from measure_work(bench, work, general, {"model": name, **NO_SIZES}, progress)


def measure_work(
    bench: Bench, work: Work, variants: Sequence[Variant], facts: dict[str, Any], progress: Progress
) -> Iterator[Row]:
    """One row for each variant.

    Raises:
        DeviceLostError: a variant has broken the GPU's context; its row is the last.
    """
    for variant in variants:
        progress.variant(variant)
        with torch.no_grad(), matmul_precision(work.options.precision):
            row = _measured(bench, work, variant, facts)
        progress.row(row)
        yield row
        if not row.is_ok:
            _check_alive(bench, variant)


def _measured(bench: Bench, work: Work, variant: Variant, facts: dict[str, Any]) -> Row:
    try:
        work.eager_values  # noqa: B018 (computed once, before the variant may change anything)
        work.load(work.requests[0])
        runner = variant.prepare(work)
        errors = check(work, runner)
        runner.arm()
        times = measure(
            runner.call,
            _timer_of(bench, runner),
            bench.schedule,
            has_events=runner.synchronize is None,
        )
        return _row(bench, work.options, variant, facts, runner=runner, errors=errors, times=times)
    except Exception as error:
        return _row(bench, work.options, variant, facts, status=_failure(error))


def _check_alive(bench: Bench, variant: Variant) -> None:
    """After an illegal access every later call fails, too, and would leave rows that blame others."""
    try:
        bench.timer.synchronize()
    except Exception as error:
        raise DeviceLostError(
            f"variant {variant.name}",
            found=f"the GPU does not answer any more ({_failure(error)})",
            expected="an error that leaves the process usable",
            hint="run again with --resume, and --peers without this one",
        ) from error


def _row(
    bench: Bench,
    options: CompileOptions,
    variant: Variant,
    facts: dict[str, Any],
    *,
    status: str = OK,
    runner: Runner | None = None,
    errors: Errors | None = None,
    times: Times | None = None,
) -> Row:
    return Row(
        run=bench.run,
        variant=variant.name,
        precision=options.precision,
        event_us=times.event_us if times else None,
        wall_us=times.wall_us if times else None,
        compile_s=runner.compile_s if runner else None,
        export_s=runner.export_s if runner else None,
        max_abs_error=errors.max_abs if errors else None,
        max_rel_error=errors.max_rel if errors else None,
        eager_abs_error=errors.eager_abs if errors else None,
        status=status,
        note=runner.note if runner else "",
        tune=options.tune if variant.is_own else "",
        matmul_precision=dict(_MATMUL_PRECISIONS)[options.precision],
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **facts,
        **dataclasses.asdict(bench.machine),
    )


def _failure(error: Exception) -> str:
    """The first line of an error with its class; errors of dlrmc say what they are by themselves."""
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else ""
    if not isinstance(error, DlrmcError):
        text = f"{type(error).__name__}: {text}"
    return text[:_STATUS_LENGTH]


@dataclass(frozen=True)
class _OtherClock:
    """A timer whose work is on a stream that only the runner can wait for."""

    timer: Timer
    wait: Callable[[], None]

    def mark(self) -> Any:
        return self.timer.mark()

    def elapsed_us(self, start: Any, end: Any) -> float:
        return self.timer.elapsed_us(start, end)

    def synchronize(self) -> None:
        self.wait()

    def now_us(self) -> float:
        return self.timer.now_us()


def _timer_of(bench: Bench, runner: Runner) -> Timer:
    return bench.timer if runner.synchronize is None else _OtherClock(bench.timer, runner.synchronize)


@contextlib.contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """The setting of torch for products of float32, restored afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(dict(_MATMUL_PRECISIONS)[precision])
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _free(device: torch.device) -> None:
    """Give back what a cell held: compiled code, graphs and their pools."""
    torch.compiler.reset()
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
