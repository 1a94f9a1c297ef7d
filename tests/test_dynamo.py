"""`torch.compile(model, backend="dlrmc")`."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed

from dlrmc import dynamo
from dlrmc.errors import BoundsError, FallbackWarning, UnsupportedOpsError
from tests.installed import run_as_installed

REFERENCE = {"target": "reference"}


class Bags(nn.Module):
    """A table, a layer and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.table = nn.EmbeddingBag(5, 2, mode="sum")
        self.top = nn.Linear(2, 3)
        self.shift = nn.Buffer(torch.ones(3))

    def forward(self, x: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.top(x + self.table(ids, offsets)) + self.shift


def inputs(batch: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(batch)
    return torch.randn(batch, 2), torch.randint(0, 5, (3 * batch,)), torch.arange(batch) * 3


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    with torch.no_grad():
        yield
    torch._dynamo.reset()


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[dynamo.GraphCalls]:
    """The graphs that Dynamo hands over."""
    made: list[dynamo.GraphCalls] = []
    make = dynamo.GraphCalls.__init__

    def note(self: dynamo.GraphCalls, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(dynamo.GraphCalls, "__init__", note)
    return made


@pytest.mark.parametrize(("dynamic", "graphs_made"), [(None, 2), (True, 2), (False, 3)])
def test_batches_of_any_size(dynamic: bool | None, graphs_made: int, graphs: list[Any]) -> None:
    model = Bags().eval()
    compiled = torch.compile(
        model, backend=dynamo.backend, options=REFERENCE, dynamic=dynamic, fullgraph=True
    )
    for batch in (2, 5, 7, 5, 2):
        torch.testing.assert_close(compiled(*inputs(batch)), model(*inputs(batch)))
    assert len(graphs) == graphs_made


def test_parameters_and_buffers_are_weights_and_their_changes_are_seen(graphs: list[Any]) -> None:
    model = Bags().eval()
    compiled = torch.compile(model, backend=dynamo.backend, options={"target": "emulate"})
    compiled(*inputs(2))
    (program,) = graphs[0]._known.values()
    assert sorted(program.compiled._build.program.weights) == [
        "self_buffers_shift",
        "self_modules_table_parameters_weight",
        "self_modules_top_parameters_bias",
        "self_modules_top_parameters_weight",
    ]
    assert program.compiled._build.program.input_paths == ("ids", "offsets", "x")
    model.load_state_dict({name: value + 1 for name, value in model.state_dict().items()})
    torch.testing.assert_close(compiled(*inputs(2)), model(*inputs(2)))
    model.top.weight = nn.Parameter(torch.ones(3, 2))
    torch.testing.assert_close(compiled(*inputs(2)), model(*inputs(2)))


def test_two_modules_of_one_class_keep_their_own_weights() -> None:
    models = [Bags().eval(), Bags().eval()]
    with torch.no_grad():
        models[1].top.bias += 5
    compiled = [torch.compile(model, backend=dynamo.backend, options=REFERENCE) for model in models]
    for _ in range(2):
        for model, call in zip(models, compiled, strict=True):
            torch.testing.assert_close(call(*inputs(3)), model(*inputs(3)))


def test_inference_mode_and_every_mode_of_torch() -> None:
    model = Bags().eval()
    for mode in dynamo.MODES:
        compiled = torch.compile(model, backend=dynamo.backend, mode=mode)
        with torch.inference_mode():
            torch.testing.assert_close(compiled(*inputs(2)), model(*inputs(2)))
        torch._dynamo.reset()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"options": {"targe": "reference"}},
            r"option targe: there is no such option\n(.*\n)*.*did you mean target",
        ),
        ({"options": {"target": "gpu"}}, "option target: 'gpu'"),
        ({"options": {"batch_sizes": [2]}}, r"batch_sizes: \[2\] under torch.compile"),
        ({"mode": "max-autotune-no-cudagraphs"}, "mode of torch.compile: 'max-autotune-no-cudagraphs'"),
    ],
)
def test_unknown_options_and_modes_raise(asked: dict[str, Any], message: str) -> None:
    compiled = torch.compile(Bags().eval(), backend=dynamo.backend, **asked)
    with pytest.raises(BackendCompilerFailed, match=message):
        compiled(*inputs(2))


def test_a_training_graph_is_refused() -> None:
    compiled = torch.compile(Bags(), backend=dynamo.backend, options=REFERENCE)
    with torch.enable_grad(), pytest.raises(BackendCompilerFailed, match="inference only") as caught:
        compiled(*inputs(2))
    assert "torch.no_grad()" in str(caught.value)


def test_a_frozen_model_needs_no_no_grad() -> None:
    model = Bags().eval().requires_grad_(False)
    compiled = torch.compile(model, backend=dynamo.backend, options=REFERENCE)
    with torch.enable_grad():
        torch.testing.assert_close(compiled(*inputs(2)), model(*inputs(2)))


class Gamma(nn.Module):
    """Has an op that dlrmc lacks."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.lgamma(x * 2)


def test_an_unsupported_graph_runs_in_eager_mode_with_one_warning() -> None:
    model = Gamma()
    compiled = torch.compile(model, backend=dynamo.backend, options=REFERENCE)
    x = torch.ones(2, 2)
    with pytest.warns(FallbackWarning, match=r"runs in eager mode: (.*\n)*.*lgamma") as caught:
        found = compiled(x)
    torch.testing.assert_close(found, model(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(compiled(x + 1), model(x + 1))
    assert len([each for each in caught if each.category is FallbackWarning]) == 1


def test_under_strict_an_unsupported_graph_raises() -> None:
    compiled = torch.compile(Gamma(), backend=dynamo.backend, options={**REFERENCE, "strict": True})
    with pytest.raises(UnsupportedOpsError, match="lgamma"):
        compiled(torch.ones(2, 2))


def test_a_graph_break_leaves_two_graphs(graphs: list[Any]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        torch._dynamo.graph_break()
        return y * 3

    compiled = torch.compile(f, backend=dynamo.backend, options=REFERENCE)
    torch.testing.assert_close(compiled(torch.randn(2, 5)).shape, torch.Size([2, 5]))
    x = torch.tensor([[-1.0, 2.0]])
    assert compiled(x).tolist() == [[0.0, 6.0]]
    assert len(graphs) >= 2


def test_arguments_named_like_values_inside_of_the_graph() -> None:
    def f(relu: torch.Tensor, add: torch.Tensor) -> torch.Tensor:
        return (torch.relu(relu) + 1) * add - relu

    compiled = torch.compile(f, backend=dynamo.backend, options=REFERENCE)
    x, y = torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 4.0])
    assert compiled(x, y).tolist() == f(x, y).tolist() == [4.0, 10.0]


def test_a_python_float_that_varies() -> None:
    compiled = torch.compile(lambda x, s: x * s + 1, backend=dynamo.backend, options=REFERENCE, dynamic=True)
    for factor in (2.5, 3.5, 2.5):
        assert compiled(torch.ones(3), factor).tolist() == [factor + 1] * 3


def test_a_bad_id_is_named() -> None:
    compiled = torch.compile(
        Bags().eval(), backend=dynamo.backend, options={"target": "emulate", "bounds": "raise"}
    )
    x, ids, offsets = inputs(2)
    ids[4] = 99
    with pytest.raises(BoundsError) as caught:
        compiled(x, ids, offsets)
    assert (caught.value.input, caught.value.position, caught.value.value) == ("ids", 4, 99)


def test_the_backend_is_listed_and_found_without_an_import(tmp_path: Path) -> None:
    script = """
        import sys, torch
        assert "dlrmc" in torch._dynamo.list_backends()
        assert not any(name.startswith("dlrmc") for name in sys.modules)
        f = torch.compile(lambda x: torch.relu(x) + 1, backend="dlrmc", options={"target": "reference"})
        assert f(torch.tensor([-1.0, 2.0])).tolist() == [1.0, 3.0]
        assert "dlrmc.dynamo" in sys.modules
    """
    run_as_installed(textwrap.dedent(script), tmp_path)


class Jagged(nn.Module):
    """Two tables of bags of any length."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.tables = nn.ModuleList(nn.EmbeddingBag(5, 2, mode="sum") for _ in range(2))

    def forward(self, ids: list[torch.Tensor], offsets: torch.Tensor) -> torch.Tensor:
        return torch.cat([table(each, offsets) for table, each in zip(self.tables, ids, strict=True)], dim=1)


def jagged(batch: int, *counts: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    torch.manual_seed(sum(counts))
    offsets = torch.sort(torch.randint(0, min(counts) + 1, (batch,))).values
    return [torch.randint(0, 5, (count,)) for count in counts], offsets.index_fill(0, torch.tensor([0]), 0)


def test_numbers_of_ids_are_no_sizes(graphs: list[Any]) -> None:
    model = Jagged().eval()
    compiled = torch.compile(model, backend=dynamo.backend, options={"target": "emulate"}, dynamic=True)
    for counts in [(6, 7), (9, 4), (30, 31), (4, 5), (12, 3)]:
        for batch in (3, 2):
            args = jagged(batch, *counts)
            torch.testing.assert_close(compiled(*args), model(*args))
    (graph,) = graphs
    assert len(graph._known) == 2  # one for each batch


class Counted(Jagged):
    """Uses a number of ids."""

    def forward(self, ids: list[torch.Tensor], offsets: torch.Tensor) -> torch.Tensor:
        return super().forward(ids, offsets) / ids[0].shape[0] + ids[1].sum()


def test_numbers_of_ids_that_are_used_otherwise_are_sizes() -> None:
    model = Counted().eval()
    compiled = torch.compile(model, backend=dynamo.backend, options={"target": "emulate"}, dynamic=True)
    for counts in [(6, 7), (9, 4), (30, 31), (6, 8)]:
        args = jagged(3, *counts)
        torch.testing.assert_close(compiled(*args), model(*args))
