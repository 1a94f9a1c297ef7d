from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph
from dlrmc.passes.pipeline import PIPELINE

Cli = Callable[..., Any]

TEXT = """\
graph @tiny {
  input %x : f32[2,3]
  %neg = neg(%x) : f32[2,3]
  %dead = relu(%x) : f32[2,3]
  %relu = relu(%neg) : f32[2,3]
  return %relu
}
"""


def test_the_final_stage_is_kernels_and_reads_back(cli: Cli, small: Any) -> None:
    done = cli("dump-ir", small.model)
    assert (done.code, done.err) == (0, "")
    graph = parse_graph(done.out)
    ops = {node.op.name for node in graph.nodes}
    assert "kernel" in ops
    assert ops <= {"input", "weight", "const", "derive", "kernel", "item", "assemble", "view"}
    assert print_graph(graph) == done.out


def test_the_import_stage_has_the_models_ops_and_weights(cli: Cli, small: Any) -> None:
    done = cli("dump-ir", small.model, "--stage", "import")
    assert done.code == 0
    assert 'weight %users_weight : f32[11,4] = "users.weight"' in done.out
    assert done.out.count("= embedding_bag(") == 2
    assert "kernel" not in done.out


def test_sources_are_shown_on_request(cli: Cli, small: Any) -> None:
    assert "conftest.py" in cli("dump-ir", small.model, "--stage", "import", "--sources").out
    assert "conftest.py" not in cli("dump-ir", small.model, "--stage", "import").out


def stage_names(text: str) -> list[str]:
    """The names in the headings of `--all`."""
    return [
        line.removeprefix("// ").partition(":")[0] for line in text.splitlines() if line.startswith("// ")
    ]


def test_all_names_every_stage_in_order(cli: Cli, small: Any) -> None:
    done = cli("dump-ir", small.model, "--all")
    names = stage_names(done.out)
    assert names[0] == "import"
    assert [name.removesuffix("-2") for name in names[1:]] == [each.name for each in PIPELINE]
    assert len(set(names)) == len(names)
    assert ": unchanged" in done.out
    last = done.out.rpartition("graph @main")[2].partition("\n// ")[0]
    assert f"graph @main{last}".rstrip() == cli("dump-ir", small.model).out.rstrip()


def test_every_stage_of_all_can_be_asked_for(cli: Cli) -> None:
    for name in stage_names(cli("dump-ir", "-", "--all", stdin=TEXT.encode()).out):
        done = cli("dump-ir", "-", "--stage", name, stdin=TEXT.encode())
        assert done.code == 0
        assert done.out.startswith("graph @tiny {")


def test_json_has_one_stage_or_all(cli: Cli, small: Any) -> None:
    one = json.loads(cli("dump-ir", small.model, "--format", "json").out)
    assert len(one["stages"]) == 1
    every = json.loads(cli("dump-ir", small.model, "--format", "json", "--all").out)
    assert every["stages"][0]["stage"] == "import"
    assert every["stages"][-1]["graph"] == one["stages"][0]["graph"]


def test_drawings(cli: Cli, small: Any, tmp_path: Path) -> None:
    assert cli("dump-ir", small.model, "--format", "dot").out.startswith('digraph "')
    done = cli("dump-ir", small.model, "--format", "svg", "-o", tmp_path / "small.svg")
    assert (done.code, done.out) == (0, "")
    assert ElementTree.parse(tmp_path / "small.svg").getroot().tag.endswith("svg")


def test_text_and_archives_come_through_standard_input(cli: Cli, small: Any) -> None:
    text = cli("dump-ir", small.model, "--stage", "import").out
    assert cli("dump-ir", "-", stdin=text.encode()).out == cli("dump-ir", small.model).out
    assert cli("dump-ir", "-", stdin=small.model.read_bytes()).out == cli("dump-ir", small.model).out


@pytest.mark.parametrize(
    "flags", [("--all", "--stage", "import"), ("--all", "--format", "svg"), ("--format", "png")]
)
def test_contradicting_flags_are_bad_usage(cli: Cli, small: Any, flags: tuple[str, ...]) -> None:
    done = cli("dump-ir", small.model, *flags)
    assert (done.code, done.out) == (2, "")
    assert "Error" in done.err


def test_an_unknown_stage_names_the_nearest(cli: Cli, small: Any) -> None:
    done = cli("dump-ir", small.model, "--stage", "imprt")
    assert done.code == 1
    assert done.err.startswith("error: stage 'imprt': there is no such stage\n  expected: one of import, ")
    assert "to mend: did you mean import?" in done.err


def test_a_missing_file(cli: Cli) -> None:
    done = cli("dump-ir", "nowhere.pt2")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: nowhere.pt2: No such file or directory\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "standard input: no bytes"),
        (b"PK\x03\x04 and no more", "standard input: a broken zip archive"),
        (b"\x80\x02pickled", "standard input: bytes that start"),
        (b"graph @g {\n  input %x : f32[2]\n  %y = rleu(%x) : f32[2]\n  return %y\n}\n", "standard input:3:"),
        (b"graph @g {\n  input %x : f32[2]\n  %y = relu(%x) : f32[3]\n  return %y\n}\n", "standard input:3:"),
    ],
)
def test_what_is_no_model_is_one_clear_error(cli: Cli, data: bytes, message: str) -> None:
    done = cli("dump-ir", "-", stdin=data)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: {message}")
    assert "  expected: " in done.err
    assert "Traceback" not in done.err


def test_an_archive_of_something_else_is_refused(cli: Cli, tmp_path: Path) -> None:
    torch.save({"weight": torch.zeros(2)}, tmp_path / "state.pt2")
    done = cli("dump-ir", tmp_path / "state.pt2")
    assert done.code == 1
    assert "expected: what torch.export.save writes" in done.err
    assert "to mend: save the model again: torch.export.save" in done.err


def test_a_file_that_cannot_be_written(cli: Cli, small: Any, tmp_path: Path) -> None:
    done = cli("dump-ir", small.model, "-o", tmp_path / "no" / "such" / "folder.ir")
    assert done.code == 1
    assert "expected: a file that can be written" in done.err


def test_an_unused_input_is_a_one_line_warning(cli: Cli, tmp_path: Path) -> None:
    class Ignores(torch.nn.Module):
        def forward(self, dense: torch.Tensor, spare: torch.Tensor) -> torch.Tensor:
            return torch.relu(dense)

    path = tmp_path / "ignores.pt2"
    torch.export.save(torch.export.export(Ignores(), (torch.ones(2, 3), torch.ones(4))), path)
    done = cli("dump-ir", path)
    assert done.code == 0
    assert done.out.startswith("graph @")
    warnings = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1
    assert "spare" in warnings[0]
    assert ".py" not in warnings[0]
