from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

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
