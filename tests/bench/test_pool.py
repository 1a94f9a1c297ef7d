"""Sweeps by several real processes, on a GPU that is a file: who uses it while another does is found out."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dlrmc.bench.gpu_access import GpuAccess
from dlrmc.bench.pool import WorkerError, sweep_with_jobs
from dlrmc.bench.progress import Progress
from dlrmc.bench.records import CsvFile, Row, read_csv
from dlrmc.bench.sweep import Bench
from dlrmc.bench.tasks import Task
from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import CompileOptions, Work
from dlrmc.bench.workload import Cell
from tests.bench.fake_bench import FakeTimer, cpu_bench, eager_like, failing, variant

LOG = "DLRMC_TEST_GPU_LOG"
# Two requests are checked; then a warm-up, two rounds of two calls, and two back to back.
CHECKED_CALLS, TIMED_CALLS = 2, 1 + 4 + 2


def make_bench(gpu: GpuAccess) -> Bench:
    return cpu_bench(f"run-{os.getpid()}", FakeTimer(), gpu)


def broken_bench(gpu: GpuAccess) -> Bench:
    raise RuntimeError("no GPU left")


def write(what: str) -> None:
    with Path(os.environ[LOG]).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {what}\n")


def use_gpu(what: str) -> None:
    """Use the GPU for a while: the log shows whether somebody else did at the same time."""
    write(f"begin-{what}")
    time.sleep(0.005)
    write(f"end-{what}")


def meet(work: Work, count: int) -> None:
    """Wait until so many processes have got here: else one could measure all cells before the other is up."""
    folder = Path(os.environ[LOG]).parent / "met"
    folder.mkdir(exist_ok=True)
    (folder / str(os.getpid())).touch()
    with work.gpu.released():
        deadline = time.monotonic() + 60
        while len(list(folder.iterdir())) < count and time.monotonic() < deadline:
            time.sleep(0.01)


def compiling(work: Work) -> Runner:
    """Compiles beside others and measures candidates in turns; its calls are written down."""
    meet(work, 2)
    with work.gpu.released():
        for _ in range(5):
            write("compile")
            time.sleep(0.005)
            with work.gpu.held():
                use_gpu("candidate")

    def call() -> Any:
        use_gpu("call")
        return work.run_eager()

    return Runner(call, compile_s=0.25)


def dying(work: Work) -> Runner:
    if work.args[0].shape[0] == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return Runner(work.run_eager)


def tasks(*batches: int) -> list[Task]:
    return [Task(Cell(2, batch, rows=20), CompileOptions()) for batch in batches]


class Recorder(Progress):
    def __init__(self) -> None:
        self.told: list[object] = []

    def cell(self, task: Task, number: int, count: int) -> None:
        self.told.append((task.cell.batch, number, count))

    def row(self, row: Row) -> None:
        self.told.append(row.variant)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "gpu.log"
    path.touch()
    monkeypatch.setenv(LOG, str(path))
    return path


@pytest.fixture
def file(tmp_path: Path) -> CsvFile:
    return CsvFile(tmp_path / "x.csv", keep=False)


def test_processes_share_the_work_and_take_turns_on_the_gpu(file: CsvFile, tmp_path: Path, log: Path) -> None:
    variants = [variant("own", compiling), variant("bad", failing)]
    rows = sweep_with_jobs(make_bench, tasks(1, 2, 3, 4), variants, file, jobs=2)

    assert len({row.run for row in rows}) == 2
    for batch in (1, 2, 3, 4):
        own, bad = (row for row in rows if row.batch == batch)
        assert (own.variant, own.status, own.compile_s) == ("own", "ok", None)
        assert (bad.variant, bad.status, bad.run) == ("bad", "RuntimeError: out of luck", own.run)
    written = read_csv(tmp_path / "x.csv")
    assert [(row.run, row.key, row.variant) for row in written] == [
        (row.run, row.key, row.variant) for row in rows
    ]
    lines = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
    _check_turns([(pid, what) for pid, what in lines if what != "compile"])
    _check_that_others_stand_still([(pid, what) for pid, what in lines])


def _check_turns(lines: list[tuple[str, str]]) -> None:
    for (pid, what), (next_pid, next_what) in zip(lines[::2], lines[1::2], strict=True):
        assert what.startswith("begin")
        assert (next_pid, next_what) == (pid, what.replace("begin", "end"))


def _check_that_others_stand_still(lines: list[tuple[str, str]]) -> None:
    """From the first warm-up to the last call, no other process does anything, not even compile."""
    calls = [number for number, (_, what) in enumerate(lines) if what == "begin-call"]
    assert len(calls) == 4 * (CHECKED_CALLS + TIMED_CALLS)
    for first in range(0, len(calls), CHECKED_CALLS + TIMED_CALLS):
        timed = calls[first + CHECKED_CALLS : first + CHECKED_CALLS + TIMED_CALLS]
        assert len({pid for pid, _ in lines[timed[0] : timed[-1] + 2]}) == 1


def test_a_worker_that_dies_leaves_rows_and_is_replaced(file: CsvFile) -> None:
    variants = [variant("good", eager_like), variant("dying", dying), variant("last", eager_like)]
    progress = Recorder()
    rows = sweep_with_jobs(make_bench, tasks(2, 4, 8), variants, file, jobs=1, progress=progress)
    statuses = {(row.batch, row.variant): row.status for row in rows}
    assert len(rows) == len(statuses) == 9
    assert {key for key, status in statuses.items() if status != "ok"} == {(4, "dying"), (4, "last")}
    assert statuses[4, "dying"] == "the worker process ended by SIGKILL"
    assert len({row.run for row in rows}) == 2
    names = [variant.name for variant in variants]
    assert progress.told == [(2, 1, 3), *names, (4, 2, 3), *names, (8, 3, 3), *names]


def test_a_worker_that_cannot_begin_is_an_error(file: CsvFile, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WorkerError, match="ended with code 1 before it could measure anything"):
        sweep_with_jobs(broken_bench, tasks(2), [variant("good", eager_like)], file, jobs=2)
    assert "no GPU left" in capfd.readouterr().err


def test_no_cell_begins_after_the_time(file: CsvFile) -> None:
    make, good = partial(make_bench), [variant("good", eager_like)]
    assert sweep_with_jobs(make, tasks(2, 4), good, file, jobs=1, max_seconds=0) == []
