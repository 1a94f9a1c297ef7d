"""What the report says of warnings and of kernels that were not fused, and what `strict` makes of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dlrmc
from dlrmc.errors import FrontendError, UnusedInputWarning
from dlrmc.options import Options
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.findings import check_strict, find_warnings
from tests.runtime.fake_cuda import compile_on_fake_cuda
from tests.runtime.programs import LOOKUP, TABLE, compile_lookup, make_build, make_program


class Picks(nn.Module):
    """A buffer that is read into the program, and an input that is not read."""

    def __init__(self) -> None:
        super().__init__()
        self.pick = nn.Buffer(torch.tensor([1, 0]))

    def forward(self, x: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return torch.index_select(x, 1, self.pick) * 2


X = torch.randn(4, 2)


def compile_picks(cache_dir: Path, shapes: Any = None, **options: Any) -> Compiled:
    exported = torch.export.export(Picks(), (X, torch.ones(3)), dynamic_shapes=shapes)
    with pytest.warns(UnusedInputWarning):
        return dlrmc.compile(exported, target="reference", cache_dir=cache_dir, **options)


def test_the_report_lists_warnings_and_whether_a_graph_is_used(cache_dir: Path) -> None:
    report = compile_picks(cache_dir).report()
    assert "graph      no: the target reference has no CUDA graphs" in report
    assert "warning: input label: read by no op" in report
    assert "warning: values read into the program at compile time, new ones are refused: pick" in report


def test_strict_makes_errors_of_all_warnings_at_once(cache_dir: Path) -> None:
    for shapes in (None, ({0: Dim("batch")}, None)):
        with pytest.raises(FrontendError, match=r"option strict: 2 warnings of the compiler") as caught:
            compile_picks(cache_dir, shapes, strict=True)
        assert "input label" in str(caught.value)
        assert "pick" in str(caught.value)


def test_strict_takes_a_program_without_warnings(cache_dir: Path) -> None:
    compiled = compile_lookup(cache_dir, target="reference", strict=True)
    assert "warning" not in compiled.report()


def test_a_weight_on_another_device_is_a_warning() -> None:
    program = make_program(LOOKUP, {"table": TABLE}, ("dense", "ids"), {}, (0, 1))
    assert find_warnings(program, torch.device("cpu")) == []
    gpu = torch.device("cuda:0")
    (text,) = find_warnings(program, gpu)
    assert text == "weights that lie on another device than cuda:0, copied there: table"
    check_strict(program, gpu, Options(target="reference"))
    with pytest.raises(FrontendError, match=r"1 warning of the compiler\n(.*\n)*.*copied there: table"):
        check_strict(program, gpu, Options(target="reference", strict=True))


class Mixed(nn.Module):
    """A part per row, a sum over the batch, and one in f64."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.last = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.last(torch.relu(self.first(x)))
        return y, (y.double().exp() + 1).sum(0)


def test_kernels_outside_of_row_programs_are_listed_with_the_reason(cache_dir: Path) -> None:
    exported = torch.export.export(Mixed().eval(), (torch.randn(64, 8),))
    report = dlrmc.compile(exported, target="reference", cache_dir=cache_dir).report()
    assert "row programs take no f64" in report


def test_all_in_one_row_program_lists_nothing(cache_dir: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
    exported = torch.export.export(model, (torch.randn(64, 8),))
    report = dlrmc.compile(exported, target="reference", cache_dir=cache_dir).report()
    assert "not in a row program" not in report


def test_a_gpus_program_is_one_graph(cache_dir: Path) -> None:
    program = make_program(LOOKUP, {"table": TABLE}, ("dense", "ids"), {}, (0, 1))
    build = make_build(program, Options(target="emulate", cache_dir=cache_dir))
    build = dataclasses.replace(build, target=dataclasses.replace(build.target, name="cuda"))
    compiled, _driver = compile_on_fake_cuda(build)
    assert "graph      yes: 2 kernels, one launch a call" in compiled.report()
