"""The long run of benchmarks/soak.py, short and without a GPU; and that it tells wrong answers and leaks."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks import soak as long_run
from benchmarks.memory import Memory, leaks
from benchmarks.soak import Answers, soak


def test_every_answer_is_right(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_run, "BATCHES", (1, 5))
    readings = list(soak(100, "emulate", cache_dir=cache_dir))
    assert [made for made, *_ in readings] == list(range(5, 101, 5))
    assert readings[-1][1] == 0


def test_a_wrong_answer_is_counted() -> None:
    answers = Answers("cpu")
    answers.compare(torch.ones(3), torch.ones(3))
    answers.compare(torch.ones(3), torch.tensor([1.0, 1.0, 1.01]))
    answers.compare(torch.tensor([float("nan")]), torch.ones(1))
    assert (answers.wrong, answers.compared) == (2, 3)


def test_a_run_ends_with_its_time(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_run, "BATCHES", (1, 5))
    readings = list(soak(10**9, "emulate", cache_dir=cache_dir, seconds=1.0))
    assert len(readings) == 1
    assert 0 < readings[0][0] < 10**9 // long_run.STEPS


FLAT = Memory(live=1.0, reserved=20.0, gpu=500.0, rss=300.0)


@pytest.mark.parametrize(
    "late",
    [
        FLAT,
        replace(FLAT, live=0.5),
        replace(FLAT, reserved=40.0),
        replace(FLAT, gpu=520.0),
        replace(FLAT, rss=315.0),
    ],
)
def test_flat_memory_is_no_leak(late: Memory) -> None:
    first_use = replace(FLAT, rss=100.0, gpu=100.0)
    assert leaks([first_use, *[FLAT] * 6, *[late] * 3]) == []


@pytest.mark.parametrize("kind", ["live", "reserved", "gpu", "rss"])
def test_each_kind_of_leak_is_told_by_name(kind: str) -> None:
    grown = replace(FLAT, **{kind: getattr(FLAT, kind) + 25.0})
    assert leaks([*[FLAT] * 6, *[grown] * 3]) == [kind]
    assert leaks([*[FLAT] * 8, grown]) == [kind]


def test_others_on_the_gpu_are_no_leak() -> None:
    beside_others = [*[FLAT] * 6, *[replace(FLAT, gpu=9000.0)] * 3]
    assert leaks(beside_others, shares_gpu=True) == []
    assert leaks(beside_others) == ["gpu"]
