from __future__ import annotations

import pytest

from dlrmc.bench.grid import make_tasks, parse_sizes
from dlrmc.bench.presets import PRESETS
from dlrmc.bench.tasks import in_tuning_order
from dlrmc.errors import OptionError


def test_the_seed_sweep_has_55_cells() -> None:
    tasks = make_tasks("seed", {})
    assert len(tasks) == 55
    first, last = tasks[0].cell, tasks[-1].cell
    assert (first.num_cat, first.batch) == (2, 2)
    assert last == PRESETS["seed"]
    assert (last.dim, last.bag, last.rows, last.dense) == (16, 2, 4096, 3)
    assert (last.bottom, last.top) == ((64,), (64, 32, 1))


def test_all_combinations_in_each_precision() -> None:
    tasks = make_tasks("seed", {"num_cat": "2,8", "batch": "4", "dim": "8,16"}, precisions="fp32,tf32")
    found = [(t.cell.num_cat, t.cell.batch, t.cell.dim, t.options.precision) for t in tasks]
    assert found == [
        (tables, 4, dim, precision) for tables in (2, 8) for dim in (8, 16) for precision in ("fp32", "tf32")
    ]


def test_layers_and_options_reach_every_cell() -> None:
    (task,) = make_tasks(
        "seed", {"num_cat": "2", "batch": "4", "bottom": "7", "top": "9,2"}, tune="fast", cold=True
    )
    assert (task.cell.bottom, task.cell.top) == ((7,), (9, 2))
    assert (task.options.tune, task.options.cold) == ("fast", True)


def test_a_preset_gives_what_is_not_said() -> None:
    tasks = make_tasks("mlperf", {"rows": "1000"})
    assert [task.cell.batch for task in tasks] == [128, 2048]
    assert {task.cell.rows for task in tasks} == {1000}
    assert {task.model for task in tasks} == {"mlperf"}


@pytest.mark.parametrize("text", ["", "2,", "0", "-1", "x", "2;3", "1.5"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(OptionError, match="option --dim"):
        parse_sizes("--dim", text)


def test_unknown_names() -> None:
    with pytest.raises(OptionError, match="option --preset: criteo"):
        make_tasks("criteo", {})
    with pytest.raises(OptionError, match="option --precision: fp8"):
        make_tasks("seed", {}, precisions="fp32,fp8")


def test_numbers_of_tables_come_from_both_ends_and_batches_vary_fastest() -> None:
    tasks = in_tuning_order(make_tasks("seed", {"batch": "4,16"}))
    sizes = [(task.cell.num_cat, task.cell.batch) for task in tasks]
    assert sizes == [(tables, batch) for tables in (32, 2, 16, 4, 8) for batch in (4, 16)]


def test_several_presets_keep_their_own_sizes() -> None:
    tasks = make_tasks("mlperf,kaggle", {}, precisions="fp32,tf32")
    found = [(task.model, task.cell.dim, task.cell.batch, task.options.precision) for task in tasks]
    assert found[:3] == [
        ("mlperf", 128, 128, "fp32"),
        ("mlperf", 128, 128, "tf32"),
        ("mlperf", 128, 2048, "fp32"),
    ]
    assert len(found) == 8
    assert found[4] == ("kaggle", 16, 128, "fp32")
