from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dlrmc.cli.sources import load_inputs, read_program
from dlrmc.errors import InputError
from dlrmc.ir.graph import Graph

X = torch.ones(2)


@pytest.mark.parametrize(
    ("saved", "args", "kwargs"),
    [
        ((X, [X, X]), 2, ()),
        ([X], 1, ()),
        ({"x": X, "y": X}, 0, ("x", "y")),
        (((X,), {"y": X}), 1, ("y",)),
        ((X, {"y": X}), 2, ()),
    ],
)
def test_arguments_come_as_saved(tmp_path: Path, saved: Any, args: int, kwargs: tuple[str, ...]) -> None:
    torch.save(saved, tmp_path / "inputs.pt")
    positional, named = load_inputs(str(tmp_path / "inputs.pt"))
    assert (len(positional), tuple(named)) == (args, kwargs)


def test_pickled_code_is_not_run(tmp_path: Path) -> None:
    torch.save((Path("x"),), tmp_path / "inputs.pt")
    with pytest.raises(InputError, match="cannot read it"):
        load_inputs(str(tmp_path / "inputs.pt"))


def test_the_content_decides_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "graph.pt2"
    path.write_text("graph @g {\n  input %x : f32[2]\n  return %x\n}\n")
    program = read_program(str(path))
    assert isinstance(program, Graph)
    assert program.name == "g"


@pytest.mark.parametrize("saved", [{"weight": X}, torch.nn.Linear(2, 2)])
def test_what_torch_save_wrote_is_no_program(
    tmp_path: Path, saved: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    torch.save(saved, tmp_path / "model.pt")
    with pytest.raises(InputError, match=r"what torch\.save writes: weights or a module, and no"):
        read_program(str(tmp_path / "model.pt"))
    # torch would log the traceback.
    assert "Traceback" not in capfd.readouterr().err + caplog.text


def test_nothing_in_a_file_of_inputs(tmp_path: Path) -> None:
    (tmp_path / "inputs.pt").write_bytes(b"")
    with pytest.raises(InputError, match=r"no bytes\n  expected: a tuple of arguments"):
        load_inputs(str(tmp_path / "inputs.pt"))
