"""Programs with dynamic dimensions: any sizes in the declared ranges, built when first seen."""

from __future__ import annotations

import random
import re
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dlrmc
from dlrmc.emulator.module import EmulatedModule
from dlrmc.errors import BoundsError, InputError, OptionError, SpecialisationWarning
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.dynamic import DynamicCompiled

TARGETS = ["emulate", "reference"]


class Bags(nn.Module):
    """Sums of bags through a layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.table = nn.EmbeddingBag(5, 2, mode="sum")
        self.top = nn.Linear(2, 3)

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.top(self.table(ids, offsets))


class Dense(nn.Module):
    """Two layers; the batch is the one size that varies."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.first = nn.Linear(3, 4)
        self.last = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.first(x))) * scale


def bags_of(ids: int, bags: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(ids * 100 + bags)
    offsets = torch.sort(torch.randint(0, ids + 1, (bags,))).values
    offsets[0] = 0
    return torch.randint(0, 5, (ids,)), offsets


def compile_bags(cache_dir: Path, model: nn.Module, **options: Any) -> Compiled:
    shapes = ({0: Dim("ids", min=0, max=40)}, {0: Dim("bags", min=1, max=64)})
    return dlrmc.compile(
        torch.export.export(model, bags_of(6, 3), dynamic_shapes=shapes), cache_dir=cache_dir, **options
    )


def dense_of(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(batch)
    return torch.randn(batch, 3), torch.randn(batch, 1)


def compile_dense(cache_dir: Path, model: nn.Module, **options: Any) -> Compiled:
    batch = Dim("batch", max=64)
    exported = torch.export.export(model.eval(), dense_of(4), dynamic_shapes=({0: batch}, {0: batch}))
    return dlrmc.compile(exported, **{"target": "reference", "cache_dir": cache_dir, **options})


def held(compiled: Compiled) -> DynamicCompiled:
    assert isinstance(compiled, DynamicCompiled)
    return compiled


# The reference evaluates a graph whose sizes are all fixed; kernels read the number of ids when they run.
@pytest.mark.parametrize(("target", "built"), [("emulate", 2), ("reference", 5)])
def test_ids_and_bags_both_vary(target: str, built: int, cache_dir: Path) -> None:
    model = Bags().eval()
    compiled = compile_bags(cache_dir, model, target=target)
    for ids, bags in [(6, 3), (1, 3), (40, 3), (0, 3), (5, 1), (6, 3)]:
        torch.testing.assert_close(compiled(*bags_of(ids, bags)), model(*bags_of(ids, bags)).detach())
    stats = compiled.stats()
    assert (stats["calls"], stats["built"], stats["specialisations"]) == (6, built, built)


def test_a_new_number_of_ids_runs_no_compiler(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[str] = []
    build = EmulatedModule.build

    def counted(text: str, *args: Any, **kwargs: Any) -> EmulatedModule:
        builds.append(text)
        return build(text, *args, **kwargs)

    monkeypatch.setattr(EmulatedModule, "build", counted)
    model = Bags().eval()
    compiled = compile_bags(cache_dir, model, target="emulate")
    for ids in (7, 6, 1, 40, 0, 6):
        torch.testing.assert_close(compiled(*bags_of(ids, 3)), model(*bags_of(ids, 3)).detach())
    assert len(builds) == 1
    (sizes,) = compiled.stats()["sizes"]
    assert re.fullmatch(r"s\d+=any, s\d+=3", sizes)


def test_the_source_is_the_same_whichever_call_came_first(cache_dir: Path) -> None:
    sources: list[str] = []
    for first in (1, 40):
        compiled = compile_bags(cache_dir, Bags().eval(), target="emulate")
        compiled(*bags_of(first, 3))
        sources.append(compiled.cuda_source)
    assert sources[0] == sources[1]


def test_offsets_are_checked_against_the_ids_of_their_call(cache_dir: Path) -> None:
    model = Bags().eval()
    compiled = compile_bags(cache_dir, model, target="emulate", bounds="raise")
    compiled(*bags_of(20, 3))
    ids, _ = bags_of(5, 3)
    with pytest.raises(BoundsError) as caught:
        compiled(ids, torch.tensor([0, 2, 9]))
    assert (caught.value.input, caught.value.value, caught.value.limit) == ("offsets", 9, 5)
    offsets = torch.tensor([0, 2, 9])
    ids, _ = bags_of(12, 3)
    torch.testing.assert_close(compiled(ids, offsets), model(ids, offsets).detach())


class Weighted(nn.Module):
    """Bags of three tables of one width, whose sources share a stage, and weighted ones of another width."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.tables = nn.ModuleList(nn.EmbeddingBag(9, dim, mode="sum") for dim in (4, 4, 4, 6))

    def forward(self, ids: list[torch.Tensor], offsets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        parts = [table(each, offsets) for table, each in zip(self.tables[:3], ids, strict=True)]
        return torch.cat([*parts, self.tables[3](ids[0], offsets, per_sample_weights=weights)], dim=1)


def weighted_of(counts: tuple[int, ...]) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
    torch.manual_seed(sum(counts))
    offsets = torch.tensor([0, min(counts) // 2])
    return [torch.randint(9, (count,)) for count in counts], offsets, torch.rand(counts[0])


def test_ids_of_many_tables_in_any_number_and_weights_with_them(cache_dir: Path) -> None:
    model = Weighted().eval()
    dims = [Dim(f"n{number}", min=0, max=50) for number in range(3)]
    shapes = ([{0: dim} for dim in dims], None, {0: dims[0]})
    exported = torch.export.export(model, weighted_of((4, 5, 6)), dynamic_shapes=shapes)
    compiled = dlrmc.compile(exported, target="emulate", cache_dir=cache_dir)
    for counts in [(4, 5, 6), (0, 50, 1), (50, 0, 3), (7, 7, 7)]:
        inputs = weighted_of(counts)
        torch.testing.assert_close(compiled(*inputs), model(*inputs).detach())
    ids, offsets, weights = weighted_of((4, 5, 6))
    with pytest.raises(InputError, match=r"weights, dimension 0: s\d+ = 3\n  expected: 4, as ids\[0\] has"):
        compiled(ids, offsets, weights[:3])
    assert compiled.stats()["built"] == 1


class Counting(nn.Module):
    """Uses the number of ids for more than bags."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(5, 2, mode="sum")

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.table(ids, offsets) * ids.shape[0]


def test_a_number_of_ids_that_is_used_otherwise_is_a_size(cache_dir: Path) -> None:
    model = Counting().eval()
    compiled = compile_bags(cache_dir, model, target="emulate")
    for ids in (6, 3, 6):
        torch.testing.assert_close(compiled(*bags_of(ids, 3)), model(*bags_of(ids, 3)).detach())
    assert compiled.stats()["built"] == 2


def test_more_ids_than_declared_are_refused_with_the_maximum(cache_dir: Path) -> None:
    compiled = compile_bags(cache_dir, Bags().eval(), target="reference")
    with pytest.raises(InputError, match=r"ids, dimension 0: s\d+ = 41\n  expected: .*<= 40\n.*wider"):
        compiled(*bags_of(41, 3))
    compiled(*bags_of(40, 3))


def test_many_batch_sizes_in_random_order_twice(cache_dir: Path) -> None:
    model = Dense()
    compiled = compile_dense(cache_dir, model)
    sizes = list(range(1, 65)) * 2
    random.Random(3).shuffle(sizes)
    for batch in sizes:
        torch.testing.assert_close(compiled(*dense_of(batch)), model(*dense_of(batch)).detach())
    stats = compiled.stats()
    assert (stats["calls"], stats["built"], stats["evicted"]) == (128, 64, 0)
    assert {(use["built"], use["calls"]) for use in stats["sizes"].values()} == {(1, 2)}


def test_emulated_batches_and_their_memory(cache_dir: Path) -> None:
    model = Dense()
    compiled = compile_dense(cache_dir, model, target="emulate")
    memory = []
    for _ in range(2):
        for batch in (1, 3, 4):
            torch.testing.assert_close(compiled(*dense_of(batch)), model(*dense_of(batch)).detach())
        memory.append(compiled.stats()["memory_bytes"])
    assert memory[0] == memory[1]


def test_batches_built_ahead(cache_dir: Path) -> None:
    model = Dense()
    compiled = compile_dense(cache_dir, model, batch_sizes=[2, 8])
    assert compiled.stats()["built"] == 2
    compiled(*dense_of(8))
    assert compiled.stats()["built"] == 2
    assert [use["calls"] for use in compiled.stats()["sizes"].values()] == [0, 1]
    assert "called 1 times" in compiled.report()


def test_batch_sizes_for_what_a_batch_does_not_say(cache_dir: Path) -> None:
    shapes = ({0: Dim("rows"), 1: Dim("columns")},)
    exported = torch.export.export(One(), (torch.ones(4, 3),), dynamic_shapes=shapes)
    with pytest.raises(OptionError, match=r"x: dimension 1 is dynamic.*; x: dimension 0 is dynamic"):
        dlrmc.compile(exported, batch_sizes=[2], target="reference")
    exported = torch.export.export(Dense().eval(), dense_of(4))
    with pytest.raises(OptionError, match=r"\[2\] for a program whose sizes the export fixed\n(.*\n)*.*Dim"):
        dlrmc.compile(exported, batch_sizes=[2], target="reference")


def test_sizes_that_contradict_each_other(cache_dir: Path) -> None:
    compiled = compile_dense(cache_dir, Dense())
    x, scale = dense_of(5)
    for _ in range(2):  # when the batch is new, and when it is known
        with pytest.raises(InputError, match="scale") as caught:
            compiled(x, scale[:4])
        compiled(x, scale)
    assert "dimension 0 is s" in str(caught.value)
    with pytest.raises(InputError, match=r"x: f32\[5\]"):
        compiled(x[:, 0], scale)
    with pytest.raises(InputError, match="x: a list"):
        compiled([1.0], scale)


def test_a_cap_gives_up_the_sizes_used_least_recently(cache_dir: Path) -> None:
    model = Dense()
    compiled = DynamicCompiled(held(compile_dense(cache_dir, model))._specialiser, most=2)
    with pytest.warns(SpecialisationWarning, match="more than 2 sets of sizes.*=1 is given up") as caught:
        found = [compiled(*dense_of(batch)) for batch in (1, 2, 3, 1, 2, 3)]
    assert len(caught) == 1
    for batch, scores in zip((1, 2, 3, 1, 2, 3), found, strict=True):
        torch.testing.assert_close(scores, model(*dense_of(batch)).detach())
    stats = compiled.stats()
    assert (stats["specialisations"], stats["evicted"], stats["built"], stats["calls"]) == (2, 4, 6, 6)
    assert len(stats["sizes"]) == 2


def test_a_fault_of_one_size_is_raised_by_the_next_call_of_any(cache_dir: Path) -> None:
    model = Bags().eval()
    compiled = compile_bags(cache_dir, model, target="emulate")
    ids, offsets = bags_of(6, 3)
    good = bags_of(5, 1)
    compiled(*good)
    ids[offsets[-1] - 1] = 1000
    compiled(ids, offsets)
    with pytest.raises(BoundsError) as caught:
        compiled(*good)
    assert (caught.value.input, caught.value.value) == ("ids", 1000)
    torch.testing.assert_close(compiled(*good), model(*good).detach())


def test_steps_replicas_and_outputs_of_the_callers_own(cache_dir: Path) -> None:
    model = Dense()
    compiled = compile_dense(cache_dir, model, target="emulate")
    inputs = dense_of(3)
    expected = model(*inputs).detach()
    torch.testing.assert_close(compiled.bind(*inputs)(), expected)
    replica = compiled.replica()
    torch.testing.assert_close(replica(*inputs), expected)
    out = torch.empty(3, 1)
    assert compiled(*inputs, out=out) is out
    torch.testing.assert_close(out, expected)
    assert (replica.stats()["built"], replica.stats()["calls"]) == (0, 1)


def test_source_target_and_ir_are_those_of_the_last_sizes(cache_dir: Path) -> None:
    compiled = compile_dense(cache_dir, Dense())
    with pytest.raises(InputError, match="no sizes yet"):
        compiled.graph  # noqa: B018
    compiled(*dense_of(7))
    assert "f32[7,3]" in compiled.cuda_source
    assert compiled.target.name == "reference"
    assert compiled.graph.inputs[0].shape == (7, 3)


def test_threads_with_sizes_of_their_own(cache_dir: Path) -> None:
    model = Dense()
    compiled = compile_dense(cache_dir, model)
    wrong: list[int] = []

    def serve(batch: int) -> None:
        inputs = dense_of(batch)
        expected = model(*inputs).detach()
        for _ in range(20):
            if not torch.allclose(compiled(*inputs), expected):
                wrong.append(batch)

    threads = [threading.Thread(target=serve, args=(1 + number % 4,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert compiled.stats()["calls"] == 160


class One(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def test_a_batch_frozen_at_one_is_reported_and_others_are_refused(cache_dir: Path) -> None:
    exported = torch.export.export(One(), (torch.ones(1, 3),), dynamic_shapes=({0: Dim.AUTO},))
    compiled = dlrmc.compile(exported, target="reference", cache_dir=cache_dir)
    assert "x is [1,3]" in compiled.report()
    with pytest.raises(InputError, match=r"x: f32\[4,3\]\n  expected: f32\[1,3\]") as caught:
        compiled(torch.ones(4, 3))
    assert "dimension 0 at 1; export again with an example of this size" in str(caught.value)
    assert "dynamic_shapes=" in str(caught.value)
