"""The long run of benchmarks/soak.py, short and without a GPU; and that it tells wrong answers and leaks."""

from pathlib import Path

import pytest
import torch

from benchmarks import soak as long_run
from benchmarks.soak import Answers, Memory, is_flat, soak


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


def test_a_leak_is_seen() -> None:
    flat = [Memory(1.0, 500.0, 300.0)] * 9
    assert is_flat([Memory(0.0, 400.0, 200.0), *flat])
    assert not is_flat([*flat[:6], *[Memory(1.0, 500.0, 317.0)] * 3])
    assert not is_flat([*flat[:6], *[Memory(1.5, 500.0, 300.0)] * 3])
    assert not is_flat([*flat[:6], *[Memory(1.0, 521.0, 300.0)] * 3])
