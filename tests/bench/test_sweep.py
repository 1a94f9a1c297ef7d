from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dlrmc.bench import sweep as sweep_module
from dlrmc.bench import tasks as tasks_module
from dlrmc.bench.progress import Progress
from dlrmc.bench.records import CsvFile, Row, read_csv
from dlrmc.bench.sweep import (
    Bench,
    DeviceLostError,
    matmul_precision,
    measure_cell,
    measure_program,
    sweep,
)
from dlrmc.bench.tasks import Task, pending
from dlrmc.bench.variants import VARIANTS, Variant
from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import CompileOptions, Work, program_work
from dlrmc.bench.workload import Cell
from tests.bench.fake_bench import FakeTimer, cpu_bench, eager_like, failing, stale, variant

TASKS = [Task(Cell(2, batch, rows=20), CompileOptions()) for batch in (2, 4, 8)]
GOOD = variant("good", eager_like)
BAD = variant("bad", failing)


def rows_of(bench: Bench, *variants: Variant) -> list[Row]:
    return list(measure_cell(bench, TASKS[1], variants))


def test_a_row_says_what_was_measured_and_where() -> None:
    (row,) = rows_of(cpu_bench("run-7"), GOOD)
    assert (row.run, row.variant, row.status, row.precision) == ("run-7", "good", "ok", "fp32")
    assert (row.num_cat, row.batch, row.rows, row.top) == (2, 4, 20, "64-32-1")
    assert (row.gpu, row.driver, row.torch, row.matmul_precision) == ("TestGPU", "1.2", "2.11.0", "highest")
    assert row.compile_s == 0.25
    assert row.max_abs_error is not None
    assert row.key == TASKS[1].key


def test_times_are_those_of_the_protocol() -> None:
    timer = FakeTimer()

    def prepare(work: Work) -> Runner:
        def call() -> torch.Tensor:
            timer.spend(12, host_us=3)
            return work.run_eager()

        return Runner(call)

    (row,) = rows_of(cpu_bench(timer=timer), variant("timed", prepare))
    assert (row.event_us, row.wall_us) == (12, 12)


def test_a_runner_with_a_clock_of_its_own_has_no_event_time() -> None:
    waits: list[str] = []

    def prepare(work: Work) -> Runner:
        return Runner(work.run_eager, synchronize=lambda: waits.append("own"))

    timer = FakeTimer()
    (row,) = rows_of(cpu_bench(timer=timer), variant("other", prepare))
    assert row.event_us is None
    assert row.wall_us is not None
    assert waits
    assert timer.log == []


def test_a_failure_is_a_row_and_the_others_go_on() -> None:
    bad, wrong, good = rows_of(cpu_bench(), BAD, variant("stale", stale), GOOD)
    assert bad.status == "RuntimeError: out of luck"
    assert wrong.status.startswith("wrong scores: off by")
    assert [bad.wall_us, wrong.wall_us] == [None, None]
    assert good.is_ok


def test_a_cell_that_cannot_be_made_is_a_row_for_each_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> Work:
        raise MemoryError("tables")

    monkeypatch.setattr(tasks_module, "cell_work", fail)
    assert [row.status for row in rows_of(cpu_bench(), GOOD, BAD)] == ["MemoryError: tables"] * 2


def test_refresh_comes_before_every_check_and_arm_once_before_the_clock() -> None:
    events: list[str] = []

    def prepare(work: Work) -> Runner:
        return Runner(
            work.run_eager,
            refresh=lambda: events.append("refresh"),
            arm=lambda: events.append("arm"),
        )

    rows_of(cpu_bench(), variant("watched", prepare))
    assert events == ["refresh", "refresh", "arm"]


def test_dlrmc_itself_is_measured_and_right() -> None:
    own = [variant for variant in VARIANTS if variant.is_own]
    rows = rows_of(cpu_bench(), *own)
    assert [row.status for row in rows] == ["ok"] * 3
    assert all(row.compile_s and row.tune == "off" for row in rows)


def test_a_users_program(tmp_path: Path) -> None:
    model = torch.nn.Linear(3, 2).eval()
    inputs = (torch.randn(4, 3),)
    program = torch.export.export(model, inputs)
    work = program_work(program, inputs, {}, torch.device("cpu"), CompileOptions())
    special = Variant("special", "Special", failing, is_general=False)
    own, eager = (each for each in VARIANTS if each.name in ("dlrmc", "eager"))
    rows = list(measure_program(cpu_bench(), "scorer", work, [own, eager, special]))
    assert [(row.model, row.variant, row.status) for row in rows] == [
        ("scorer", "dlrmc", "ok"),
        ("scorer", "eager", "ok"),
    ]
    assert rows[0].max_abs_error is None
    assert rows[0].eager_abs_error is not None
    assert rows[0].batch == 0


def test_after_a_broken_context_nothing_else_is_measured() -> None:
    class BrokenTimer(FakeTimer):
        def synchronize(self) -> None:
            raise RuntimeError("an illegal memory access was encountered")

    rows = measure_cell(cpu_bench(timer=BrokenTimer()), TASKS[1], [BAD, GOOD])
    assert next(rows).variant == "bad"
    with pytest.raises(DeviceLostError, match="variant bad: the GPU does not answer any more"):
        next(rows)


# -- sweeps


def test_rows_are_written_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    seen: list[int] = []

    def prepare(work: Work) -> Runner:
        seen.append(len(read_csv(path)))
        return eager_like(work)

    new = sweep(cpu_bench(), TASKS, [variant("counting", prepare)], CsvFile(path, keep=False))
    assert seen == [0, 1, 2]
    assert [row.batch for row in read_csv(path)] == [row.batch for row in new] == [2, 4, 8]


def test_resume_goes_on_where_a_sweep_ended(tmp_path: Path) -> None:
    file = CsvFile(tmp_path / "x.csv", keep=False)
    sweep(cpu_bench(), TASKS[:1], [GOOD, BAD], file)
    kept = CsvFile(tmp_path / "x.csv", keep=True)
    assert [task.cell.batch for task in pending(TASKS, [GOOD, BAD], kept.rows)] == [4, 8]


def test_a_cell_is_complete_only_in_one_run() -> None:
    (good,) = rows_of(cpu_bench("run-1"), GOOD)
    (bad,) = rows_of(cpu_bench("run-2"), BAD)
    task = TASKS[1]
    assert pending([task], [GOOD], [good, bad]) == ()
    assert pending([task], [GOOD, BAD], [good, bad]) == (task,)
    other = Task(task.cell, CompileOptions("tf32"))
    assert pending([other], [GOOD], [good]) == (other,)


def test_no_cell_begins_that_would_end_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 40.0, 40.0, 70.0, 70.0])  # start; each cell's begin and end
    monkeypatch.setattr(sweep_module.time, "monotonic", lambda: next(clock))
    rows = sweep(cpu_bench(), TASKS, [BAD], CsvFile(tmp_path / "x.csv", keep=False), max_seconds=100)
    # The third would begin at 70 s and, as long as the first, end at 110 s.
    assert [row.batch for row in rows] == [2, 4]


def test_progress_is_told_of_cells_variants_and_rows(tmp_path: Path) -> None:
    told: list[object] = []

    class Recorder(Progress):
        def cell(self, task: Task, number: int, count: int) -> None:
            told.append((task.cell.batch, number, count))

        def variant(self, variant: Variant) -> None:
            told.append(variant.name)

        def row(self, row: Row) -> None:
            told.append(row.status)

    sweep(cpu_bench(), TASKS[:2], [GOOD], CsvFile(tmp_path / "x.csv", keep=False), progress=Recorder())
    assert told == [(2, 1, 2), "good", "ok", (4, 2, 2), "good", "ok"]


@pytest.mark.parametrize(("precision", "expected"), [("fp32", "highest"), ("tf32", "high")])
def test_the_precision_of_products_is_set_inside_and_restored(precision: str, expected: str) -> None:
    seen: list[str] = []

    def prepare(work: Work) -> Runner:
        seen.append(torch.get_float32_matmul_precision())
        return eager_like(work)

    before = torch.get_float32_matmul_precision()
    task = Task(TASKS[0].cell, CompileOptions(precision))
    (row,) = measure_cell(cpu_bench(), task, [variant("watched", prepare)])
    assert (seen, row.matmul_precision) == ([expected], expected)
    assert torch.get_float32_matmul_precision() == before
    with pytest.raises(KeyError), matmul_precision("fp8"):
        pass
