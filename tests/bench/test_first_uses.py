"""A worker's first uses: the compiler is loaded afterwards, and a device that fails is no reason to end."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from dlrmc.bench import first_uses

LOADED = """
import sys, torch
from dlrmc.bench.first_uses import make_first_uses
assert "dlrmc.compile" not in sys.modules
make_first_uses(torch.device("cpu"))
assert {"dlrmc.compile", "dlrmc.codegen.emit", "torch.export._trace"} <= set(sys.modules)
"""


def test_the_compiler_and_the_export_are_loaded() -> None:
    subprocess.run([sys.executable, "-c", LOADED], check=True, timeout=300)


def test_what_fails_is_left_to_the_first_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("no GPU left")

    monkeypatch.setattr(first_uses, "cell_work", fail)
    first_uses.make_first_uses(torch.device("cpu"))
