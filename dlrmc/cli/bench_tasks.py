"""Measuring the cells of a command: here or in several processes, into a CSV that can be resumed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dlrmc.bench.records import Row
    from dlrmc.bench.tasks import Task
    from dlrmc.bench.variants import Variant


@dataclass(frozen=True)
class Run:
    """How cells are measured.

    Args:
        out: the CSV.
        resume: whether its rows stay, and cells that are complete are skipped.
        jobs: processes.
        max_seconds: no cell is begun that would end later; None is no limit.
    """

    out: Path
    resume: bool = False
    jobs: int = 1
    max_seconds: float | None = None


def measure_tasks(
    tasks: Sequence[Task], variants: Sequence[Variant], run: Run
) -> tuple[list[Row], list[str]]:
    """All rows of the CSV in the end, and lines that say what is left to do.

    Raises:
        OptionError: there is no GPU.
        InputError: the CSV cannot be read or written.
        DeviceLostError, WorkerError: the measurement cannot go on.
    """
    from dlrmc.bench.machine import find_gpu
    from dlrmc.bench.pool import sweep_with_jobs
    from dlrmc.bench.records import CsvFile
    from dlrmc.bench.sweep import Bench, sweep
    from dlrmc.bench.tasks import pending
    from dlrmc.cli.bench_progress import shown_progress

    device = find_gpu()
    file = CsvFile(run.out, keep=run.resume)
    left = pending(tasks, variants, file.rows)
    limit_s = float("inf") if run.max_seconds is None else run.max_seconds
    with shown_progress() as progress:
        if run.jobs > 1:
            make_bench = partial(Bench.on_gpu, device)
            new = sweep_with_jobs(
                make_bench, left, variants, file, jobs=run.jobs, max_seconds=limit_s, progress=progress
            )
        else:
            bench = Bench.on_gpu(device)
            new = sweep(bench, left, variants, file, max_seconds=limit_s, progress=progress)
    every = [*file.rows, *new]
    missing = len(pending(tasks, variants, every))
    notes = ["", f"{missing} of {len(tasks)} cells are left; --resume goes on with them"] if missing else []
    return every, notes
