"""Measuring variants of cells, one row each. A variant that fails gives a row that says so."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import gc
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dlrmc.bench.check import Errors, check
from dlrmc.bench.gpu_access import ALONE, GpuAccess
from dlrmc.bench.machine import Machine, describe_machine
from dlrmc.bench.progress import SILENT, Progress
from dlrmc.bench.records import NO_SIZES, OK, CsvFile, Row
from dlrmc.bench.tasks import Task
from dlrmc.bench.timing import PROTOCOL, CudaTimer, OtherClock, Schedule, Timer, Times, measure
from dlrmc.bench.variants import Variant
from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import CompileOptions, Work
from dlrmc.errors import DlrmcError

_MATMUL_PRECISIONS = (("fp32", "highest"), ("tf32", "high"))
_STATUS_LENGTH = 300


@dataclass(frozen=True)
class Origin:
    """Where a row comes from: a process, named so that rows of one can be told from those of another."""

    run: str
    machine: Machine


@dataclass(frozen=True)
class Bench:
    """Where and how is measured.

    Args:
        device: of all work.
        timer: its clocks.
        machine: facts for the rows.
        schedule: how often variants are called.
        run: identifies the process in the rows.
        gpu: the turns that it takes with other processes of the same sweep.
    """

    device: torch.device
    timer: Timer
    machine: Machine
    schedule: Schedule = PROTOCOL
    run: str = ""
    gpu: GpuAccess = ALONE

    @classmethod
    def on_gpu(cls, device: torch.device, gpu: GpuAccess = ALONE) -> Bench:
        """The protocol on a GPU."""
        started = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
        run = f"{started}-{os.getpid()}"
        return cls(device, CudaTimer(device), describe_machine(device), run=run, gpu=gpu)

    @property
    def origin(self) -> Origin:
        """What its rows say of it."""
        return Origin(self.run, self.machine)


class DeviceLostError(DlrmcError):
    """Nothing more can be measured in this process."""


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
        free_cell(bench.device)
        longest_s = max(longest_s, time.monotonic() - start - begun_s)
    return rows


def measure_cell(
    bench: Bench, task: Task, variants: Sequence[Variant], progress: Progress = SILENT
) -> Iterator[Row]:
    """One row for each variant of one cell; all failed where the cell itself cannot be made."""
    try:
        with torch.no_grad(), matmul_precision(task.options.precision):
            work = task.make_work(bench.device, bench.gpu)
    except Exception as error:
        for variant in variants:
            yield failed_row(bench.origin, task, variant, status=_failure(error))
        return
    yield from measure_work(bench, work, variants, task.facts, progress)


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
        times = _times(bench, runner)
        if not bench.gpu.is_alone:
            # It has waited for other processes while it compiled: that is no time of the compiler's.
            runner = dataclasses.replace(runner, compile_s=None, export_s=None)
        return _row(bench.origin, work.options, variant, facts, runner=runner, errors=errors, times=times)
    except Exception as error:
        return _row(bench.origin, work.options, variant, facts, status=_failure(error))


def _times(bench: Bench, runner: Runner) -> Times:
    if runner.synchronize is None:
        return measure(runner.call, bench.timer, bench.schedule, quiet=bench.gpu.quiet)
    timer = OtherClock(bench.timer, runner.synchronize)
    return measure(runner.call, timer, bench.schedule, has_events=False, quiet=bench.gpu.quiet)


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


def failed_row(origin: Origin, task: Task, variant: Variant, status: str) -> Row:
    """The row of a variant that was not measured, because of what `status` says."""
    return _row(origin, task.options, variant, task.facts, status=status)


def _row(
    origin: Origin,
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
        run=origin.run,
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
        **dataclasses.asdict(origin.machine),
    )


def _failure(error: Exception) -> str:
    """The first line of an error with its class; errors of dlrmc say what they are by themselves."""
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else ""
    if not isinstance(error, DlrmcError):
        text = f"{type(error).__name__}: {text}"
    return text[:_STATUS_LENGTH]


@contextlib.contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """The setting of torch for products of float32, restored afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(dict(_MATMUL_PRECISIONS)[precision])
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def free_cell(device: torch.device) -> None:
    """Give back what a cell held: compiled code, graphs and their pools."""
    torch.compiler.reset()
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
