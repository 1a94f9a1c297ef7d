"""Requests padded to a batch that is built already."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dlrmc
from dlrmc.errors import BoundsError, InputError, OptionError
from dlrmc.runtime.compiled import Compiled

BUCKETS = [4, 16, 64]


class Recommender(nn.Module):
    """Bags with and without a last offset, bags of two ids, and a dense input; two results."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.plain = nn.EmbeddingBag(9, 4, mode="sum")
        self.ended = nn.EmbeddingBag(9, 4, mode="mean", include_last_offset=True)
        self.pairs = nn.EmbeddingBag(9, 4, mode="sum")
        self.top = nn.Linear(12, 2)

    def forward(self, x: torch.Tensor, bags: dict[str, torch.Tensor]) -> Any:
        parts = [
            self.plain(bags["ids"], bags["offsets"]),
            self.ended(bags["ended"], bags["ends"]),
            self.pairs(bags["pairs"]),
        ]
        return torch.sigmoid(self.top(torch.cat(parts, dim=1))) * x, x + 1


def request(batch: int, seed: int = 0) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(100 * batch + seed)
    lengths = torch.randint(4, (batch,), generator=generator)
    count = int(lengths.sum())
    ends = torch.cumsum(lengths, 0)
    bags = {
        "ids": torch.randint(9, (count,), generator=generator),
        "offsets": ends - lengths,
        "ended": torch.randint(9, (count,), generator=generator),
        "ends": torch.cat([torch.zeros(1, dtype=torch.int64), ends]),
        "pairs": torch.randint(9, (batch, 2), generator=generator),
    }
    return torch.randn(batch, 2, generator=generator), bags


def compile_recommender(model: nn.Module, cache_dir: Path, **options: Any) -> Compiled:
    dynamic = {name: {0: Dim.AUTO} for name in ("ids", "offsets", "ended", "ends", "pairs")}
    exported = torch.export.export(model.eval(), request(4), dynamic_shapes=({0: Dim.AUTO}, dynamic))
    given = {"target": "emulate", "batch_sizes": BUCKETS, "pad_batches": True, **options}
    return dlrmc.compile(exported, cache_dir=cache_dir, **given)


def test_batches_in_random_order_twice(cache_dir: Path) -> None:
    model = Recommender()
    compiled = compile_recommender(model, cache_dir)
    built = compiled.stats()
    assert (built["built"], built["missed"]) == (3, 0)
    sizes = [2, 3, 4, 5, 15, 16, 17, 40, 63, 64] * 2
    random.Random(3).shuffle(sizes)
    for seed, batch in enumerate(sizes):
        args = request(batch, seed)
        torch.testing.assert_close(compiled(*args), tuple(each.detach() for each in model(*args)))
    stats = compiled.stats()
    assert (stats["calls"], stats["padded"], stats["missed"], stats["built"]) == (20, 14, 0, 3)
    assert stats["without_graph"] == 20  # the emulator has none
    assert stats["memory_bytes"] == built["memory_bytes"]


def test_a_batch_above_the_largest_is_built(cache_dir: Path) -> None:
    model = Recommender()
    compiled = compile_recommender(model, cache_dir, batch_sizes=[4])
    for _ in range(2):
        args = request(7)
        torch.testing.assert_close(compiled(*args), tuple(each.detach() for each in model(*args)))
    stats = compiled.stats()
    assert (stats["padded"], stats["missed"], stats["built"]) == (0, 1, 2)


def test_the_callers_own_results(cache_dir: Path) -> None:
    model = Recommender()
    compiled = compile_recommender(model, cache_dir)
    args = request(5)
    out = torch.empty(5, 2), torch.empty(5, 2)
    assert compiled(*args, out=out) is out
    torch.testing.assert_close(out, tuple(each.detach() for each in model(*args)))
    with pytest.raises(InputError, match=r"out: f32\[1,2\]\n  expected: f32\[5,2\]"):
        compiled(*args, out=(torch.empty(1, 2), out[1]))


def test_sizes_that_contradict_each_other_are_not_padded(cache_dir: Path) -> None:
    compiled = compile_recommender(Recommender(), cache_dir)
    x, bags = request(5)
    with pytest.raises(InputError, match="dimension"):
        compiled(x[:3], bags)


def test_a_bad_id_is_named_by_its_place_in_the_request(cache_dir: Path) -> None:
    compiled = compile_recommender(Recommender(), cache_dir, bounds="raise")
    x, bags = request(5)
    bags["pairs"][3, 1] = 99
    with pytest.raises(BoundsError) as caught:
        compiled(x, bags)
    assert (caught.value.input, caught.value.position, caught.value.value) == ("bags['pairs']", 7, 99)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x - x.mean(0, keepdim=True), "depends on other rows"),
        (lambda x: torch.softmax(x, 0), "depends on other rows"),
        (lambda x: x * x.shape[0], "uses the size of the batch as a number"),
        (lambda x: x.t() * 2, "depends on other rows"),
        (lambda x: (x * 2, x), "one of the arguments"),
        (lambda x: x.sum(), "depends on other rows"),
    ],
    ids=["mean", "softmax", "size", "transposed", "an argument", "sum"],
)
def test_programs_whose_rows_depend_on_each_other_are_refused(
    function: Callable[[torch.Tensor], Any], reason: str, cache_dir: Path
) -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return function(x)

    exported = torch.export.export(Model(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim.AUTO},))
    with pytest.raises(OptionError, match=reason):
        dlrmc.compile(exported, target="reference", batch_sizes=[8], pad_batches=True, cache_dir=cache_dir)
    padded = dlrmc.compile(exported, target="reference", batch_sizes=[8], cache_dir=cache_dir)
    torch.testing.assert_close(padded(torch.ones(5, 3)), function(torch.ones(5, 3)))


def test_bags_whose_offsets_are_computed_are_refused(cache_dir: Path) -> None:
    class Lengths(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.EmbeddingBag(9, 4, mode="sum")

        def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            return self.table(ids, torch.cumsum(lengths, 0) - lengths)

    args = torch.randint(9, (6,)), torch.tensor([2, 2, 1, 1])
    exported = torch.export.export(Lengths(), args, dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))
    with pytest.raises(OptionError, match="ids or offsets that the program computes"):
        dlrmc.compile(exported, target="reference", batch_sizes=[8], pad_batches=True, cache_dir=cache_dir)


def test_padding_needs_batches_to_pad_to() -> None:
    with pytest.raises(OptionError, match=r"pad_batches: no batch_sizes\n.*batch_sizes=\[16, 64\]"):
        dlrmc.options.Options(pad_batches=True)
