"""Inputs, outputs, weights and constants of whole programs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from dlrmc.errors import FrontendError, UnusedInputWarning
from dlrmc.frontend import (
    ConstantInput,
    ConstantOutput,
    InputOutput,
    TensorInput,
    ValueOutput,
    import_program,
)
from dlrmc.frontend.source import source_of
from tests.frontend.imported import assert_equals_eager, evaluate_imported

X = torch.randn(2, 3)


class Structured(nn.Module):
    def forward(self, dense: torch.Tensor, parts: Any, *, batch: Any, scale: float = 2.0) -> torch.Tensor:
        return (dense + parts[0] * parts[1][0] + batch["user"] + batch["item"][1]) * scale


def structured_inputs() -> tuple[tuple[Any, ...], dict[str, Any]]:
    x = [X + k for k in range(6)]
    return (x[0], [x[1], (x[2],)]), {"batch": {"user": x[3], "item": (x[4], x[5])}, "scale": 3.0}


def test_paths_are_the_users_own_names() -> None:
    args, kwargs = structured_inputs()
    with pytest.warns(UnusedInputWarning, match=r"batch\['item'\]\[0\]"):
        imported = import_program(torch.export.export(Structured(), args, kwargs))
    assert imported.input_paths == (
        "dense",
        "parts[0]",
        "parts[1][0]",
        "batch['user']",
        "batch['item'][0]",
        "batch['item'][1]",
        "scale",
    )
    assert imported.inputs[-1] == ConstantInput("scale", 3.0)
    assert imported.inputs[2] == TensorInput("parts[1][0]", 2)
    assert_equals_eager(evaluate_imported(imported, args, kwargs), Structured()(*args, **kwargs))


class Pair(NamedTuple):
    ids: torch.Tensor
    scores: torch.Tensor


class TakesTuple(nn.Module):
    def forward(self, pair: Pair, flag: bool, mode: str, nothing: Any = None) -> torch.Tensor:
        assert nothing is None
        return pair.scores * 2 if flag and mode == "double" else pair.scores + pair.ids


def test_named_tuples_and_specialised_python_values() -> None:
    args = (Pair(torch.ones(2, 3, dtype=torch.int64), X), False, "other", None)
    imported = import_program(torch.export.export(TakesTuple(), args))
    assert imported.input_paths == ("pair.ids", "pair.scores", "flag", "mode", "nothing")
    assert [each.value for each in imported.inputs if isinstance(each, ConstantInput)] == [
        False,
        "other",
        None,
    ]
    assert_equals_eager(evaluate_imported(imported, args, {}), TakesTuple()(*args))


class VariadicModel(nn.Module):
    def forward(self, *features: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        return features[0] + features[1] * named["weight"]


def test_variadic_arguments_have_a_place() -> None:
    args, kwargs = (X, X + 1), {"weight": X + 2}
    imported = import_program(torch.export.export(VariadicModel(), args, kwargs))
    assert len(set(imported.input_paths)) == 3
    assert imported.input_paths[2] == "weight"
    assert_equals_eager(evaluate_imported(imported, args, kwargs), VariadicModel()(*args, **kwargs))


class ManyResults(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
        z = x + y
        return {
            "sum": z,
            "again": z,
            "none": None,
            "number": 7,
            "input": y,
            "pair": (z * 2, "text"),
            "copy": x.clone(),
        }


def test_results_of_every_kind() -> None:
    args = (X, X + 1)
    imported = import_program(torch.export.export(ManyResults(), args))
    names = ("sum", "again", "none", "number", "input", "double", "text", "copy")
    by_name = dict(zip(names, imported.outputs, strict=True))
    assert by_name["sum"] == by_name["again"] == ValueOutput(0)
    assert by_name["none"] == ConstantOutput(None)
    assert by_name["number"] == ConstantOutput(7)
    assert by_name["text"] == ConstantOutput("text")
    assert by_name["input"] == InputOutput(1)
    # A copy of an input is a new tensor with its value: a graph output that is the input node.
    copied = by_name["copy"]
    assert isinstance(copied, ValueOutput)
    assert imported.graph.outputs[copied.index] is imported.graph.inputs[0]
    assert_equals_eager(evaluate_imported(imported, args, {}), ManyResults()(*args))


class Tied(nn.Module):
    """Two linears of one weight, an unused linear, and a buffer of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)
        self.b.weight = self.a.weight
        self.unused = nn.Linear(3, 3)
        self.register_buffer("shift", torch.randn(3))
        self.register_buffer("scale", torch.randn(3), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.a(x) + self.shift) * self.scale


@pytest.mark.parametrize("core", [False, True])
def test_tied_weights_are_one_and_unused_ones_are_left_out(core: bool) -> None:
    model = Tied()
    program = torch.export.export(model, (X,))
    imported = import_program(program.run_decompositions() if core else program)
    (tied,) = {"a.weight", "b.weight"} & set(imported.weights)
    assert sorted(imported.weights) == sorted([tied, "a.bias", "b.bias", "scale", "shift"])
    assert imported.weights[tied].data_ptr() == model.a.weight.data_ptr()
    assert imported.aliases == {"a.weight": "b.weight"} if tied == "b.weight" else {"b.weight": "a.weight"}
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, (X,), {}), model(X))


class Sums(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def test_an_input_that_export_merged_is_warned_about_once() -> None:
    program = torch.export.export(Sums(), (X, X))
    with pytest.warns(UnusedInputWarning, match="input [xy]: read by no op.*same tensor object") as caught:
        imported = import_program(program)
    assert len([each for each in caught if each.category is UnusedInputWarning]) == 1
    assert caught[0].filename == __file__
    assert [node.name for node in imported.graph.inputs] == ["x", "y"]
    assert len(imported.warnings) == 1


def test_a_program_that_reads_all_inputs_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedInputWarning)
        assert import_program(torch.export.export(Sums(), (X, X + 1))).warnings == ()


def test_frozen_dimensions_are_reported() -> None:
    imported = import_program(torch.export.export(Sums(), (X[:1], X[:1] + 1)))
    assert [str(dim) for dim in imported.frozen_dims] == [
        "x: dimension 0 is fixed at 1",
        "x: dimension 1 is fixed at 3",
        "y: dimension 0 is fixed at 1",
        "y: dimension 1 is fixed at 3",
    ]
    assert imported.dynamic_dims == ()


def test_the_users_program_is_not_changed() -> None:
    program = torch.export.export(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), (X,))
    before = str(program)
    import_program(program)
    assert str(program) == before


def test_a_saved_program_imports_the_same(tmp_path: Path) -> None:
    from dlrmc.ir.printer import print_graph

    program = torch.export.export(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), (X,))
    torch.export.save(program, tmp_path / "model.pt2")
    loaded = torch.export.load(tmp_path / "model.pt2")
    assert print_graph(import_program(loaded).graph) == print_graph(import_program(program).graph)
    assert import_program(loaded).input_paths == ("input",)


def test_what_is_no_exported_program_is_refused() -> None:
    with pytest.raises(FrontendError, match=r"found|a Linear\n  expected: a torch.export.ExportedProgram"):
        import_program(nn.Linear(2, 2))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("dtype", [torch.int16, torch.complex64])
def test_an_input_of_a_dtype_the_ir_lacks_is_named(dtype: torch.dtype) -> None:
    args = (torch.ones(2, dtype=dtype), torch.ones(2, dtype=dtype) + 1)
    with pytest.raises(
        FrontendError, match=f"input x: dtype {str(dtype).removeprefix('torch.')} is not one of"
    ):
        import_program(torch.export.export(Sums(), args))


def test_names_are_torchs_and_sources_are_the_users_own_lines() -> None:
    imported = import_program(torch.export.export(Tied(), (X,)))
    graph = imported.graph
    assert [n.name for n in graph.nodes if not n.is_op("input", "weight", "const")] == [
        "linear",
        "add",
        "linear_1",
        "mul",
    ]
    for node in graph.nodes:
        if not node.is_op("input", "weight", "const"):
            assert node.source.startswith("test_signature.py:")
            assert node.source.endswith("in forward: return self.b(self.a(x) + self.shift) * self.scale")


def test_a_library_whose_name_begins_with_torch_is_not_torch() -> None:
    packages = Path(torch.__file__).parents[1]
    node = torch.fx.Graph().placeholder("x")
    node.meta["stack_trace"] = "\n".join(
        f'File "{packages / file}", line {line}, in forward\n    {code}'
        for file, line, code in (
            ("torchfm/layer.py", 197, "s = F.dropout(s)"),
            ("torch/nn/functional.py", 9, "return _VF.dropout(s)"),
        )
    )
    assert source_of(node) == "layer.py:197 in forward: s = F.dropout(s)"


def test_input_names_win_over_weights_and_ops() -> None:
    class Clash(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x = nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor, relu: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + self.x) + relu

    imported = import_program(torch.export.export(Clash(), (X, X + 1)))
    assert [node.name for node in imported.graph.inputs] == ["x", "relu"]
    assert len({node.name for node in imported.graph.nodes}) == len(imported.graph.nodes)
    np.testing.assert_allclose(
        evaluate_imported(imported, (X, X + 1), {}), (torch.relu(X + 1) + X + 1).numpy(), rtol=1e-6
    )
