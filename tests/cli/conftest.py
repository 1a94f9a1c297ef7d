"""A small model, exported for real, and the command line as a function."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import nn

from dlrmc.cli.application import main


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


class SmallModel(nn.Module):
    """Two embedding bags and dense values, concatenated, then one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.users = nn.EmbeddingBag(11, 4, mode="sum")
        self.items = nn.EmbeddingBag(7, 4, mode="sum")
        self.top = nn.Linear(3 + 8, 2)

    def forward(self, dense: torch.Tensor, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        """Scores [B,2] of dense [B,3] and ids [B,2] of each table."""
        return torch.sigmoid(self.top(torch.cat([dense, self.users(user), self.items(item)], dim=1)))


@dataclass(frozen=True)
class Exported:
    """Paths of a saved program and of inputs for it, and what eager PyTorch makes of them."""

    model: Path
    inputs: Path
    eager: torch.Tensor


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """A small model as `torch.export.save` writes it."""
    folder = tmp_path_factory.mktemp("small")
    torch.manual_seed(0)
    model = SmallModel().eval()
    inputs = (torch.randn(4, 3), torch.randint(0, 11, (4, 2)), torch.randint(0, 7, (4, 2)))
    torch.export.save(torch.export.export(model, inputs), folder / "small.pt2")
    torch.save(inputs, folder / "inputs.pt")
    with torch.no_grad():
        return Exported(folder / "small.pt2", folder / "inputs.pt", model(*inputs))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """`cli("dump-ir", path, stdin=b"...")` runs a command in this process."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert isinstance(done.value.code, int)
        return Outcome(done.value.code, captured.out, captured.err)

    return run
