from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dlrmc.cli.run import largest_difference

Cli = Callable[..., Any]


@pytest.mark.parametrize("target", ["reference", "emulate"])
def test_scores_equal_eager(cli: Cli, small: Any, tmp_path: Path, target: str) -> None:
    saved = tmp_path / "scores.pt"
    done = cli("run", small.model, "--inputs", small.inputs, "--target", target, "--compare", "-o", saved)
    assert done.code == 0
    assert "result: float32[4, 2] on cpu" in done.out
    difference = float(done.out.rpartition("largest difference from eager: ")[2])
    assert difference < 1e-6
    torch.testing.assert_close(torch.load(saved), small.eager, rtol=0, atol=1e-6)


def test_a_list_of_arguments_is_as_good_as_a_tuple(cli: Cli, small: Any, tmp_path: Path) -> None:
    torch.save(list(torch.load(small.inputs)), tmp_path / "list.pt")
    done = cli("run", small.model, "--inputs", tmp_path / "list.pt", "--target", "reference", "--compare")
    assert done.code == 0
    assert float(done.out.rpartition(": ")[2]) < 1e-6


def test_an_id_out_of_range_is_told_in_the_call(cli: Cli, small: Any, tmp_path: Path) -> None:
    dense, user, item = torch.load(small.inputs)
    item[2, 1] = 700
    torch.save((dense, user, item), tmp_path / "bad.pt")
    done = cli("run", small.model, "--inputs", tmp_path / "bad.pt", "--target", "emulate")
    assert (done.code, done.out) == (1, "")
    assert "item" in done.err
    assert "700" in done.err


def test_a_wrong_shape_names_the_input(cli: Cli, small: Any, tmp_path: Path) -> None:
    dense, user, item = torch.load(small.inputs)
    torch.save((dense[:, :2], user, item), tmp_path / "bad.pt")
    done = cli("run", small.model, "--inputs", tmp_path / "bad.pt", "--target", "reference")
    assert done.code == 1
    assert "dense" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("value", "message"),
    [(3, "a int"), ("text", "a str")],
)
def test_inputs_that_are_no_arguments(
    cli: Cli, small: Any, tmp_path: Path, value: object, message: str
) -> None:
    torch.save(value, tmp_path / "odd.pt")
    done = cli("run", small.model, "--inputs", tmp_path / "odd.pt", "--target", "reference")
    assert done.code == 1
    assert message in done.err
    assert "expected: a tuple of arguments" in done.err


def test_inputs_that_torch_cannot_load(cli: Cli, small: Any, tmp_path: Path) -> None:
    (tmp_path / "no.pt").write_bytes(b"no archive")
    done = cli("run", small.model, "--inputs", tmp_path / "no.pt", "--target", "reference")
    assert done.code == 1
    assert "torch.load cannot read it" in done.err
    assert "to mend: torch.save((dense, offsets, indices), 'inputs.pt')" in done.err


def test_a_bad_option_is_refused_before_the_compile(cli: Cli, small: Any) -> None:
    done = cli("run", small.model, "--inputs", small.inputs, "--target", "emulated")
    assert done.code == 1
    assert "did you mean target='emulate'?" in done.err


def test_both_from_standard_input_is_bad_usage(cli: Cli) -> None:
    assert cli("run", "-", "--inputs", "-").code == 2


def test_tuning_without_a_gpu_changes_nothing_and_bad_words_are_told(cli: Cli, small: Any) -> None:
    arguments = ("run", small.model, "--inputs", small.inputs, "--target", "reference")
    assert cli(*arguments, "--tune", "fast").out == cli(*arguments).out
    done = cli(*arguments, "--tune", "fst")
    assert done.code != 0
    assert "did you mean tune='fast'" in done.err


def test_nan_in_the_same_place_is_no_difference(cli: Cli, small: Any, tmp_path: Path) -> None:
    dense, user, item = torch.load(small.inputs)
    torch.save((dense * torch.nan, user, item), tmp_path / "nan.pt")
    done = cli("run", small.model, "--inputs", tmp_path / "nan.pt", "--target", "reference", "--compare")
    assert (done.code, done.out.splitlines()[-1]) == (0, "largest difference from eager: 0")


@pytest.mark.parametrize(
    ("ours", "theirs", "difference"),
    [
        ([1.0, torch.inf], [1.5, torch.inf], 0.5),
        ([torch.nan, 1.0], [torch.nan, 1.0], 0.0),
        ([torch.inf, 1.0], [-torch.inf, 1.0], torch.inf),
        ([torch.nan, 1.0], [2.0, 1.0], torch.nan),
    ],
)
def test_the_largest_difference(ours: list[float], theirs: list[float], difference: float) -> None:
    results = [torch.ones(2), torch.tensor(ours)]
    found = largest_difference([torch.ones(2), torch.tensor(theirs)], results)
    assert found == difference or (found != found and difference != difference)


def test_scores_are_saved_before_eager_runs(
    cli: Cli, small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any) -> None:
        raise SyntaxError("invalid syntax")

    monkeypatch.setattr(torch.export.ExportedProgram, "module", fail)
    saved = tmp_path / "scores.pt"
    arguments = ("run", small.model, "--inputs", small.inputs, "--target", "reference", "-o", saved)
    done = cli(*arguments, "--compare")
    assert done.code == 1
    assert "eager PyTorch cannot run the program (SyntaxError: invalid syntax)" in done.err
    torch.testing.assert_close(torch.load(saved), small.eager, rtol=0, atol=1e-6)


def test_the_target_that_was_chosen_is_told(cli: Cli, small: Any) -> None:
    done = cli("run", small.model, "--inputs", small.inputs)
    assert done.code == 0
    assert done.err.startswith("note: target ")
    assert done.err.count("note: target") == 1
    assert cli("run", small.model, "--inputs", small.inputs, "--target", "reference").err == ""


def test_a_result_that_cannot_be_saved(cli: Cli, small: Any, tmp_path: Path) -> None:
    done = cli("run", small.model, "--inputs", small.inputs, "--target", "reference", "-o", tmp_path)
    assert done.code == 1
    assert f"error: {tmp_path}: Is a directory\n" in done.err


def test_inputs_of_other_classes_are_named(cli: Cli, small: Any, tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 3), tmp_path / "module.pt")
    done = cli("run", small.model, "--inputs", tmp_path / "module.pt", "--target", "reference")
    assert done.code == 1
    assert "(it holds a torch.nn.modules.linear.Linear)" in done.err
    assert "\x1b" not in done.err
