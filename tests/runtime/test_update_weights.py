"""New weights while serving: by `update_weights`, and by writes in place."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dlrmc
from dlrmc.errors import InputError
from dlrmc.options import Options
from dlrmc.runtime.compiled import Compiled
from tests.runtime.fake_cuda import compile_on_fake_cuda
from tests.runtime.programs import DENSE, IDS, TABLE, compile_lookup, eager_lookup, make_build, make_program

TARGETS = ["emulate", "reference"]


class Scorer(nn.Module):
    """A table, a normalisation that is folded into a layer, a baked buffer, and what is not read."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.table = nn.Embedding(5, 4)
        self.first = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 2)
        self.tied = self.last
        self.pick = nn.Buffer(torch.tensor([1, 0]))
        self.spare = nn.Parameter(torch.zeros(2))
        self.norm.running_mean = torch.tensor([0.5, -1.0, 2.0, 0.0])

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.norm(self.first(self.table(ids))))
        return torch.index_select(self.tied(hidden) + self.last(hidden), 1, self.pick)


IDS_OF_FIVE = torch.tensor([4, 0, 3, 3, 1])


def compile_scorer(model: nn.Module, cache_dir: Path, target: str, **options: Any) -> Compiled:
    exported = torch.export.export(model, (IDS_OF_FIVE,))
    return dlrmc.compile(exported, target=target, cache_dir=cache_dir, **options)


def changed(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value + 1 if value.is_floating_point() else value for name, value in state.items()}


def agree(compiled: Any, model: nn.Module) -> None:
    expected = model(IDS_OF_FIVE).detach()
    torch.testing.assert_close(compiled(IDS_OF_FIVE), expected)


@pytest.fixture
def model() -> Scorer:
    return Scorer().eval()


@pytest.mark.parametrize("target", TARGETS)
def test_writes_in_place_and_load_state_dict_are_seen(target: str, model: Scorer, cache_dir: Path) -> None:
    compiled = compile_scorer(model, cache_dir, target)
    step = compiled.bind(IDS_OF_FIVE)
    agree(compiled, model)
    with torch.no_grad():
        model.table.weight[3] = 7
    agree(compiled, model)
    with torch.no_grad():
        model.norm.weight.mul_(2)  # stands in a folded copy
    torch.testing.assert_close(step(), model(IDS_OF_FIVE).detach())
    agree(compiled, model)
    model.load_state_dict(changed(model.state_dict()))
    agree(compiled.replica(), model)
    agree(compiled, model)
    torch.testing.assert_close(step(), model(IDS_OF_FIVE).detach())


@pytest.mark.parametrize("target", TARGETS)
def test_update_weights_takes_a_whole_state_dict(target: str, model: Scorer, cache_dir: Path) -> None:
    compiled = compile_scorer(model, cache_dir, target)
    before = compiled.stats()["memory_bytes"]
    state = changed(model.state_dict())
    other = Scorer().eval()
    other.load_state_dict(state)
    compiled.update_weights(state)
    agree(compiled, other)
    assert torch.equal(model.table.weight, other.table.weight)  # shared, so the model has the values, too
    assert compiled.stats()["memory_bytes"] == before


def test_the_folded_copies_are_there_to_be_updated(model: Scorer, cache_dir: Path) -> None:
    compiled = compile_scorer(model, cache_dir, "emulate")
    assert any(node.is_op("derive") for node in compiled.graph.nodes)


def test_a_table_is_never_copied(model: Scorer, cache_dir: Path) -> None:
    compiled = compile_scorer(model, cache_dir, "emulate")
    (table,) = [
        tensor
        for node, tensor in zip(
            compiled._build.plan.residents, compiled._executor._residents.tensors, strict=True
        )
        if node.is_op("weight") and node.target == "table.weight"
    ]
    assert table.data_ptr() == model.table.weight.data_ptr()
    compiled.update_weights({"table.weight": torch.ones(5, 4)})
    assert table.data_ptr() == model.table.weight.data_ptr()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"tabel.weight": torch.ones(5, 4)}, r'weight "tabel.weight": no such weight\n.*table\.weight'),
        ({"first.bias": torch.ones(3)}, r'weight "first.bias": f32\[3\]\n  expected: f32\[4\]'),
        ({"first.bias": torch.ones(4).double()}, r'weight "first.bias": f64\[4\]\n  expected: f32\[4\]'),
        ({"first.bias": [1.0]}, r'weight "first.bias": a list'),
        ({"pick": torch.tensor([0, 1])}, r'weight "pick": another value\n.*read into the program'),
        (
            {"tied.bias": torch.ones(2), "last.bias": torch.zeros(2)},
            r'weight "last.bias": another value than its tied weight',
        ),
    ],
)
def test_what_is_refused_changes_nothing(
    state: dict[str, Any], message: str, model: Scorer, cache_dir: Path
) -> None:
    compiled = compile_scorer(model, cache_dir, "reference")
    before = compiled(IDS_OF_FIVE)
    with pytest.raises(InputError, match=message):
        compiled.update_weights({"table.weight": torch.ones(5, 4), **state})
    assert torch.equal(compiled(IDS_OF_FIVE), before)
    assert not torch.equal(model.table.weight, torch.ones(5, 4))


def test_a_tied_weight_by_each_of_its_names(model: Scorer, cache_dir: Path) -> None:
    compiled = compile_scorer(model, cache_dir, "emulate")
    for name in ("tied.weight", "last.weight"):
        compiled.update_weights({name: torch.randn(2, 4)})
        agree(compiled, model)
    same = torch.randn(2, 4)
    compiled.update_weights({"tied.weight": same, "last.weight": same.clone()})
    agree(compiled, model)


def test_a_baked_buffer_written_in_place_is_refused_until_it_is_restored(
    model: Scorer, cache_dir: Path
) -> None:
    compiled = compile_scorer(model, cache_dir, "emulate")
    model.pick.copy_(torch.tensor([0, 0]))
    for _ in range(2):
        with pytest.raises(InputError, match='weight "pick": another value'):
            compiled(IDS_OF_FIVE)
    model.pick.copy_(torch.tensor([1, 0]))
    agree(compiled, model)


def test_a_copy_made_for_alignment_is_written_anew(cache_dir: Path) -> None:
    table = torch.arange(31, dtype=torch.float32)[1:].reshape(10, 3)
    assert table.data_ptr() % 16
    compiled = compile_lookup(cache_dir, table=table, target="emulate")
    table += 5
    torch.testing.assert_close(compiled(DENSE, IDS)[0], eager_lookup(DENSE, IDS, table)[0])
    compiled.update_weights({"table": TABLE * 2})
    torch.testing.assert_close(compiled(DENSE, IDS)[0], eager_lookup(DENSE, IDS, TABLE * 2)[0])


def test_weights_made_in_inference_mode_take_updates(cache_dir: Path) -> None:
    with torch.inference_mode():
        table = TABLE.clone()
    compiled = compile_lookup(cache_dir, table=table, target="emulate")
    compiled.update_weights({"table": TABLE * 3})
    torch.testing.assert_close(compiled(DENSE, IDS)[0], eager_lookup(DENSE, IDS, TABLE * 3)[0])


class Sized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.first(x))


def test_all_sizes_of_a_dynamic_program_are_updated_at_once(cache_dir: Path) -> None:
    model = Sized().eval()
    exported = torch.export.export(model, (torch.randn(4, 3),), dynamic_shapes=({0: Dim("batch")},))
    compiled = dlrmc.compile(exported, target="emulate", cache_dir=cache_dir)
    compiled.update_weights(changed(model.state_dict()))
    for _ in range(2):
        for batch in (2, 3):
            x = torch.randn(batch, 3)
            torch.testing.assert_close(compiled(x), model(x).detach())
        compiled.update_weights(changed(model.state_dict()))
        with torch.no_grad():
            model.norm.bias.add_(1)


TWO_TABLES = """graph @two {
  input %ids : i64[4]
  weight %a : f32[3,2] = "a"
  weight %b : f32[3,2] = "b"
  %one = embedding(%a, %ids) : f32[4,2]
  %other = embedding(%b, %ids) : f32[4,2]
  return %one, %other
}
"""


@pytest.mark.parametrize("kind", ["emulate", "reference", "fake cuda"])
def test_no_call_mixes_old_and_new_tables(kind: str, cache_dir: Path) -> None:
    weights = {"a": torch.zeros(3, 2), "b": torch.zeros(3, 2)}
    program = make_program(TWO_TABLES, weights, ("ids",), {}, (0, 1))
    target = "reference" if kind == "reference" else "emulate"
    build = make_build(program, Options(target=target, cache_dir=cache_dir))
    compiled = compile_on_fake_cuda(build)[0] if kind == "fake cuda" else Compiled(build)
    instances = [compiled, compiled.replica()]
    ids = torch.tensor([0, 1, 2, 0])
    mixed: list[Any] = []
    stop = threading.Event()

    def serve(instance: Compiled) -> None:
        while not stop.is_set():
            one, other = instance(ids)
            if not torch.equal(one, other) or len(one.unique()) != 1:
                mixed.append((one, other))

    threads = [threading.Thread(target=serve, args=(instances[number % 2],)) for number in range(8)]
    for thread in threads:
        thread.start()
    for value in range(1, 100):
        full = torch.full((3, 2), float(value))
        compiled.update_weights({"a": full, "b": full})
    stop.set()
    for thread in threads:
        thread.join()
    assert mixed == []
    assert instances[1](ids)[1].unique().tolist() == [99.0]


@pytest.mark.parametrize("state", [[torch.ones(5, 4)], None, torch.ones(5, 4)])
def test_weights_come_by_name(state: Any, model: Scorer, cache_dir: Path) -> None:
    with pytest.raises(InputError, match=r"update_weights: a \w+\n  expected: tensors by name"):
        compile_scorer(model, cache_dir, "reference").update_weights(state)
