from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

import dlrmc
from dlrmc.bench.machine import describe_machine, find_gpu, source_hash, source_version
from dlrmc.errors import OptionError


def test_without_a_gpu_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(OptionError, match="sees no GPU"):
        find_gpu()


def test_a_cpu_has_no_gpu_and_no_driver() -> None:
    machine = describe_machine(torch.device("cpu"))
    assert (machine.gpu, machine.driver, machine.torch) == ("-", "-", torch.__version__)
    assert machine.dlrmc.startswith(dlrmc.__version__)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("x = 1\n")
    return folder


def test_outside_of_git_the_sources_are_hashed(package: Path) -> None:
    version = source_version(package)
    assert version == f"{dlrmc.__version__}+src.{source_hash(package)}"
    (package / "notes.txt").write_text("no source")
    assert source_version(package) == version
    (package / "kernel.cuh").write_text("int x;")
    assert source_version(package) != version


def test_in_git_the_commit_is_named_and_changes_are_told(package: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@x", *arguments]
        return subprocess.run(command, cwd=package, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    commit = git("rev-parse", "--short=10", "HEAD")
    assert source_version(package) == f"{dlrmc.__version__}+git.{commit}"
    (package / "__init__.py").write_text("x = 2\n")
    assert source_version(package).endswith(".dirty")
