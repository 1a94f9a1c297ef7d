from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch._inductor.runtime.benchmarking import benchmarker

from dlrmc.bench.variants import OWN, VARIANTS, chosen_variants, compiled, inductor, title_of, xla
from dlrmc.bench.work import CompileOptions, Work, cell_work
from dlrmc.bench.workload import Cell
from dlrmc.errors import OptionError

OWN_NAMES = [variant.name for variant in OWN]


@pytest.mark.parametrize(
    ("peers", "expected"),
    [
        ("all", [variant.name for variant in VARIANTS]),
        ("none", OWN_NAMES),
        ("inductor,eager", [*OWN_NAMES, "eager", "inductor"]),
        ("stacked, dlrmc", ["dlrmc", "stacked"]),
    ],
)
def test_variants_are_chosen_in_the_order_of_measurement(peers: str, expected: list[str]) -> None:
    assert [variant.name for variant in chosen_variants(peers)] == expected


def test_dlrmc_and_what_compiles_fast_come_first() -> None:
    names = [variant.name for variant in VARIANTS]
    assert names[:5] == [*OWN_NAMES, "eager", "eager_graph"]
    assert len(names) == len(dict.fromkeys(names))


def test_an_unknown_variant() -> None:
    with pytest.raises(OptionError, match="option --peers: tvm"):
        chosen_variants("eager,tvm")
    assert title_of("tvm") == "tvm"


@pytest.fixture(scope="module")
def work() -> Work:
    return cell_work(Cell(2, 3, rows=20), torch.device("cpu"), CompileOptions())


def test_fresh_calls_never_see_a_tensor_twice_in_a_row(work: Work) -> None:
    source = compiled._FreshArguments(work)
    source.fill()
    seen = [source.next()[0][0].data_ptr() for _ in range(60)]
    assert len(set(seen)) == 60
    assert all(a != b for a, b in itertools.pairwise(seen))


def test_fresh_calls_see_what_was_loaded_last(work: Work) -> None:
    source = compiled._FreshArguments(work)
    work.load(work.requests[1])
    assert not torch.equal(source.next()[0][0], work.live[0])
    source.refresh()
    assert torch.equal(source.next()[0][0], work.live[0])
    work.load(work.requests[0])


def test_peers_of_the_plain_dlrm_refuse_other_models() -> None:
    other = Work(torch.nn.Linear(2, 2), (torch.ones(1, 2),), {}, [], CompileOptions())
    for prepare in (inductor.stacked, xla.xla):
        with pytest.raises(TypeError, match="only the plain DLRM"):
            prepare(other)


def test_the_autotuner_of_inductor_measures_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    @contextmanager
    def turn() -> Iterator[None]:
        log.append("take")
        yield
        log.append("give")

    def benchmark_gpu(call: Callable[[], object], **options: object) -> float:
        log.append("benchmark")
        return 1.0

    monkeypatch.setattr(benchmarker, "benchmark_gpu", benchmark_gpu)
    with inductor._benchmarks_within(turn):
        # What autotuners of Triton kernels call; those of products go on to the same.
        assert benchmarker.benchmark(lambda: None, (), {}, device="cuda") == 1.0
    assert log == ["take", "benchmark", "give"]
    benchmarker.benchmark_gpu(lambda: None)
    assert log[3:] == ["benchmark"]
