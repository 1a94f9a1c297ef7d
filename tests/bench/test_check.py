from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from dlrmc.bench.check import WrongResultError, check
from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import CompileOptions, Work, cell_work
from dlrmc.bench.workload import Cell
from tests.bench.fake_bench import eager_like, stale


def small_work(precision: str = "fp32") -> Work:
    return cell_work(Cell(2, 4, rows=20), torch.device("cpu"), CompileOptions(precision))


def altered(work: Work, change: Callable[[torch.Tensor], Any]) -> Runner:
    return Runner(lambda: change(work.run_eager()))


def test_eager_is_itself_and_near_float64() -> None:
    work = small_work()
    errors = check(work, eager_like(work))
    assert errors.eager_abs == 0
    assert errors.max_abs is not None
    assert 0 < errors.max_abs < 1e-6
    assert errors.max_rel is not None
    assert errors.max_abs < errors.max_rel < 1e-5


def test_the_first_request_is_loaded_in_the_end() -> None:
    work = small_work()
    check(work, eager_like(work))
    assert all(torch.equal(*pair) for pair in zip(work.live, work.requests[0].leaves, strict=True))


def test_a_stale_result_is_found_by_the_second_request() -> None:
    work = small_work()
    with pytest.raises(WrongResultError, match="wrong scores: off by"):
        check(work, stale(work))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda scores: scores + 1e-3, "off by 0.001"),
        (lambda scores: scores * float("nan"), "off by nan"),
        (lambda scores: scores / 0, "off by inf"),
        (lambda scores: scores[:2], r"results of shapes \[\(2, 1\)\]"),
        (lambda scores: (scores, scores), r"results of shapes \[\(4, 1\), \(4, 1\)\]"),
        (lambda scores: None, r"results of shapes \[\]"),
    ],
)
def test_wrong_results(change: Callable[[torch.Tensor], Any], message: str) -> None:
    work = small_work()
    with pytest.raises(WrongResultError, match=message):
        check(work, altered(work, change))


def test_tf32_may_be_further_off() -> None:
    work = small_work("tf32")
    errors = check(work, altered(work, lambda scores: scores + 1e-3))
    assert errors.eager_abs == pytest.approx(1e-3, rel=1e-3)


def test_without_float64_results_eager_is_the_measure() -> None:
    work = small_work()
    bare = [type(each)(each.name, each.leaves) for each in work.requests]
    other = Work(work.module, work.args, work.kwargs, bare, work.options)
    errors = check(other, eager_like(other))
    assert (errors.max_abs, errors.max_rel, errors.eager_abs) == (None, None, 0)
    with pytest.raises(WrongResultError):
        check(other, altered(other, lambda scores: scores + 1))
