"""The same program gives the same bytes under any hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from examples.plain_dlrm import PlainDLRM, make_inputs


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("determinism") / "model.pt2"
    torch.manual_seed(0)
    torch.export.save(torch.export.export(PlainDLRM(3).eval(), make_inputs(3, 8)), path)
    return path


def output_under_seed(seed: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-m", "dlrmc", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("arguments", [("dump-ir", "--all"), ("dump-cuda",)], ids=["ir", "cuda"])
def test_two_hash_seeds_give_the_same_bytes(model: Path, arguments: tuple[str, ...]) -> None:
    command, *flags = arguments
    first, second = (output_under_seed(seed, command, str(model), *flags) for seed in ("0", "1"))
    assert first
    assert first == second
