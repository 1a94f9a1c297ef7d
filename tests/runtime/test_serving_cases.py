"""Faults that serving systems had, on the GPU's own call path with the emulator behind it.

The table has five rows, `[2r, 2r + 1]`; O03, O12, O13, O19, O27 and O28 are the numbers of the cases.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dlrmc.compile import build
from dlrmc.errors import BoundsError
from dlrmc.options import Options
from dlrmc.runtime.compiled import Compiled
from tests.runtime.fake_cuda import compile_on_fake_cuda

TABLE = torch.arange(10, dtype=torch.float32).reshape(5, 2)


class Bags(nn.Module):
    """Weighted sums of bags, plus a dense input."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag.from_pretrained(TABLE.clone(), mode="sum")

    def forward(
        self, dense: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        return dense + self.table(ids, offsets, per_sample_weights=weights)


class Rows(nn.Module):
    """Rows of the table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(TABLE.clone())

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table(ids)


def compile_model(model: nn.Module, inputs: tuple[Any, ...], cache_dir: Path, **options: Any) -> Compiled:
    exported = torch.export.export(model.eval(), inputs)
    made = build(exported, Options(target="emulate", cache_dir=cache_dir, **options))
    return compile_on_fake_cuda(made)[0]


def request(seed: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, (6,), generator=generator)
    offsets = torch.tensor([0, seed % 6])
    dense, weights = torch.randn(2, 2, generator=generator), torch.rand(6, generator=generator)
    return dense, ids, offsets, weights


@pytest.mark.parametrize("ids_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("offsets_dtype", [torch.int32, torch.int64])
def test_o03_integer_widths(ids_dtype: torch.dtype, offsets_dtype: torch.dtype, cache_dir: Path) -> None:
    model = nn.EmbeddingBag.from_pretrained(TABLE.clone(), mode="sum").eval()
    args = torch.tensor([1, 2, 4], dtype=ids_dtype), torch.tensor([0, 2], dtype=offsets_dtype)
    compiled = compile_model(model, args, cache_dir)
    assert compiled(*args).tolist() == [[6.0, 8.0], [8.0, 9.0]]
    assert len(compiled._build.plan.launches) == 1
    assert "cast" not in compiled.report(ir=True).split("after")[-1]


@pytest.mark.parametrize("place", range(4), ids=["dense", "ids", "offsets", "weights"])
def test_o12_each_input_at_a_new_address(place: int, cache_dir: Path) -> None:
    model = Bags()
    compiled = compile_model(model, request(1), cache_dir)
    args = list(request(1))
    torch.testing.assert_close(compiled(*args), model(*args))
    for seed in range(2, 30):
        args[place] = request(seed)[place]  # drops the old tensor: its address may come again
        torch.testing.assert_close(compiled(*args), model(*args))


@pytest.mark.parametrize("place", range(4), ids=["dense", "ids", "offsets", "weights"])
def test_o12_each_input_written_in_place(place: int, cache_dir: Path) -> None:
    model = Bags()
    compiled = compile_model(model, request(1), cache_dir)
    args = request(1)
    for seed in range(2, 10):
        args[place].copy_(request(seed)[place])
        torch.testing.assert_close(compiled(*args), model(*args))


def test_o13_earlier_results_stay(cache_dir: Path) -> None:
    model = Bags()
    compiled = compile_model(model, request(1), cache_dir)
    found = [compiled(*request(seed)) for seed in range(50)]
    for seed, scores in enumerate(found):
        torch.testing.assert_close(scores, model(*request(seed)))


def test_o19_a_column_of_ids(cache_dir: Path) -> None:
    ids = torch.tensor([[1, 2, 3], [4, 0, 1]])
    compiled = compile_model(Rows(), (torch.tensor([0, 1]),), cache_dir)
    assert compiled(ids[:, 1]).tolist() == [[4.0, 5.0], [0.0, 1.0]]
    assert compiled(torch.tensor([3]).expand(2)).tolist() == [[6.0, 7.0]] * 2


def test_o19_strided_dense_inputs_and_weights(cache_dir: Path) -> None:
    layer = nn.Linear(3, 4).eval()
    layer.weight = nn.Parameter(torch.randn(3, 4).t())
    compiled = compile_model(layer, (torch.randn(2, 3),), cache_dir)
    wide = torch.randn(4, 7)
    for x in (
        torch.randn(3, 2).t(),
        torch.randn(1, 3).expand(2, 3),
        wide[::2, 1:4],
        torch.randn(7)[1:].view(2, 3),
    ):
        torch.testing.assert_close(compiled(x), layer(x).detach())


def test_o27_a_bad_request_between_good_ones(cache_dir: Path) -> None:
    model = Bags()
    compiled = compile_model(model, request(1), cache_dir, bounds="raise")
    dense, ids, offsets, weights = request(2)
    bad = ids.clone()
    bad[4] = 10**9
    with pytest.raises(BoundsError) as caught:
        compiled(dense, bad, offsets, weights)
    error = caught.value
    assert (error.input, error.position, error.value, error.limit) == ("ids", 4, 10**9, 5)
    torch.testing.assert_close(compiled(*request(2)), model(*request(2)))


@pytest.mark.parametrize("has_replicas", [False, True])
def test_o28_eight_threads(has_replicas: bool, cache_dir: Path) -> None:
    model = Bags()
    compiled = compile_model(model, request(1), cache_dir)
    wrong: list[tuple[int, Any]] = []

    def serve(number: int, call: Compiled) -> None:
        try:
            requests = [request(10 * number + turn) for turn in range(5)]
            expected = [model(*each) for each in requests]
            for turn in range(100):
                if not torch.allclose(call(*requests[turn % 5]), expected[turn % 5]):
                    wrong.append((number, turn))
        except BaseException as error:
            wrong.append((number, error))

    calls = [compiled.replica() if has_replicas else compiled for _ in range(8)]
    threads = [threading.Thread(target=serve, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert sum({id(call): call.calls for call in calls}.values()) == 800
