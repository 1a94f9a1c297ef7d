from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dlrmc.bench.records import CsvFile, read_csv
from tests.bench.fake_bench import cpu_bench, row

Cli = Callable[..., Any]


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    file = CsvFile(tmp_path / "x.csv", keep=False)
    for variant, wall_us in (("dlrmc", 10.0), ("dlrmc_call", 16.0), ("eager", 200.0)):
        file.append(row(variant, wall_us))
    return tmp_path / "x.csv"


def test_the_group_names_its_commands(cli: Cli) -> None:
    done = cli("bench", "--help")
    assert done.code == 0
    assert all(name in done.out for name in ("sweep", "summarize", "model"))


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_nothing_is_measured_or_written(cli: Cli, small: Any, tmp_path: Path) -> None:
    for arguments in (
        ("bench", "sweep", "--out", tmp_path / "no.csv"),
        ("bench", small.model, "--inputs", small.inputs),
        ("bench", "--inputs", small.inputs, small.model),
        ("profile", small.model, "--inputs", small.inputs),
    ):
        done = cli(*arguments)
        assert (done.code, done.out) == (1, "")
        assert "sees no GPU" in done.err
        assert "dlrmc doctor" in done.err
    assert not (tmp_path / "no.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bench", "sweep", "--batch", "two"), "option --batch"),
        (("bench", "sweep", "--num-cat", "0"), "option --num-cat"),
        (("bench", "sweep", "--preset", "criteo"), "option --preset"),
        (("bench", "sweep", "--peers", "tvm"), "option --peers"),
        (("bench", "sweep", "--precision", "fp8"), "option --precision"),
        (("bench", "sweep", "--cold", "--jobs", "2"), "option --cold"),
        (("bench", "x.pt2", "--precision", "bf16"), "option --precision"),
        (("bench", "summarize", "x.csv", "--against", "eager"), "option --against"),
        (("bench", "summarize", "nowhere.csv"), "nowhere.csv"),
        (("bench", "summarize", "x.csv", "--bars", "--lines", "dim"), "option --bars"),
        (("bench", "growth", "--axes", "rows"), "option --axes"),
        (("bench", "growth", "--precision", "bf16"), "option --precision"),
    ],
)
def test_bad_options_come_before_the_work(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (1, "")
    assert message in done.err


@pytest.fixture
def cpu_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU in the place of the GPU, with a clock that stands still."""
    monkeypatch.setattr("dlrmc.bench.machine.find_gpu", lambda: torch.device("cpu"))
    monkeypatch.setattr("dlrmc.bench.sweep.Bench.on_gpu", lambda device: cpu_bench())


SWEEP = ("bench", "sweep", "--num-cat", "2", "--rows", "20", "--peers", "dlrmc,eager")


@pytest.mark.usefixtures("cpu_instead")
def test_a_sweep_and_its_end(cli: Cli, tmp_path: Path) -> None:
    out, as_json = tmp_path / "x.csv", tmp_path / "x.json"
    first = cli(*SWEEP, "--batch", "2,4", "--out", out, "--max-seconds", "0")
    assert first.code == 0
    assert "2 of 2 cells are left; --resume goes on with them" in first.out
    second = cli(*SWEEP, "--batch", "2", "--out", out)
    assert "are left" not in second.out
    third = cli(*SWEEP, "--batch", "2,4", "--out", out, "--resume", "--json", as_json)
    assert (third.code, third.err) == (0, "")
    assert [(row.batch, row.variant, row.status) for row in read_csv(out)] == [
        (2, "dlrmc", "ok"),
        (2, "eager", "ok"),
        (4, "dlrmc", "ok"),
        (4, "eager", "ok"),
    ]
    assert len(json.loads(as_json.read_text())["rows"]) == 4


@pytest.mark.usefixtures("cpu_instead")
def test_a_model_of_the_users(cli: Cli, small: Any, tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    for inputs in ((), ("--inputs", small.inputs)):
        done = cli("bench", small.model, *inputs, "--peers", "dlrmc,eager,stacked", "--out", out)
        assert (done.code, done.err) == (0, "")
        assert "| small " in done.out
    assert [(row.model, row.variant) for row in read_csv(out)] == [("small", "dlrmc"), ("small", "eager")] * 2


def test_a_summary(cli: Cli, results: Path, tmp_path: Path) -> None:
    done = cli("bench", "summarize", results)
    assert done.code == 0
    assert "20.00 eager" in done.out
    call = cli("bench", "summarize", results, "--against", "dlrmc_call", "-o", tmp_path / "x.md")
    assert (call.code, call.out) == (0, "")
    assert "12.50 eager" in (tmp_path / "x.md").read_text()


def test_files_are_summarized_together(cli: Cli, results: Path, tmp_path: Path) -> None:
    CsvFile(tmp_path / "y.csv", keep=False).append(row("dlrmc", 3.0, batch=16))
    done = cli("bench", "summarize", results, tmp_path / "y.csv")
    assert "| 2       | 16 " in done.out


def test_drawings(cli: Cli, results: Path, tmp_path: Path) -> None:
    assert cli("bench", "summarize", results, "--plot", tmp_path / "x.png").code == 0
    assert (tmp_path / "x.png").stat().st_size > 1000
    lines = cli("bench", "summarize", results, "--plot", tmp_path / "l.svg", "--lines", "batch")
    assert lines.code == 1
    assert "no two cells that differ in batch alone" in lines.err


def test_growth_of_what_was_measured(cli: Cli, tmp_path: Path) -> None:
    file = CsvFile(tmp_path / "x.csv", keep=False)
    for batch, wall_us in ((1024, 10.0), (2048, 15.0)):
        file.append(row("dlrmc", wall_us, num_cat=32, batch=batch))
    arguments = ("bench", "growth", "--axes", "batch", "--out", tmp_path / "x.csv", "--draw-only")
    done = cli(*arguments, "--plot", tmp_path / "x.svg")
    assert done.code == 0
    assert "| 2048  |    15.0 |" in done.out
    assert "cliffs:" in done.out
    assert (tmp_path / "x.svg").exists()


@pytest.mark.parametrize(("word", "near"), [("sumarize", "summarize"), ("swep", "sweep"), ("modle", "model")])
def test_a_command_with_a_typo_is_no_model(cli: Cli, word: str, near: str) -> None:
    done = cli("bench", word, "x.csv")
    assert (done.code, done.out) == (2, "")
    assert f"No such command or model '{word}'. Did you mean '{near}'?" in " ".join(
        done.err.replace("│", " ").split()
    )


def test_a_missing_csv_is_told_once(cli: Cli) -> None:
    done = cli("bench", "summarize", "nowhere.csv")
    assert done.err.startswith("error: nowhere.csv: No such file or directory\n")
