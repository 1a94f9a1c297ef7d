"""What a row must say about the machine and the software that gave it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch

import dlrmc
from dlrmc.errors import OptionError

_PACKAGE = Path(dlrmc.__file__).parent
_SOURCE_SUFFIXES = (".py", ".cuh", ".cu", ".h")


@dataclass(frozen=True)
class Machine:
    """GPU and versions, as they stand in rows."""

    gpu: str
    driver: str
    torch: str
    cupy: str
    dlrmc: str


def find_gpu() -> torch.device:
    """The GPU to measure on: torch's current one.

    Raises:
        OptionError: torch sees none.
    """
    if not torch.cuda.is_available():
        raise OptionError(
            "this machine",
            found=f"torch {torch.__version__} sees no GPU",
            expected="an NVIDIA GPU: the peers and the protocol need one",
            hint="`dlrmc doctor` says what is missing",
        )
    return torch.device("cuda", torch.cuda.current_device())


def describe_machine(device: torch.device) -> Machine:
    """The facts of this process; "-" stands for what is not there."""
    gpu, driver = "-", "-"
    if device.type == "cuda":
        gpu, driver = torch.cuda.get_device_name(device), _driver_version()
    return Machine(gpu, driver, torch.__version__, _cupy_version(), source_version())


def _driver_version() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return "-"
    return done.stdout.splitlines()[0].strip() if done.stdout.strip() else "-"


def _cupy_version() -> str:
    for name in ("cupy-cuda13x", "cupy-cuda12x", "cupy"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "-"


def source_version(package: Path = _PACKAGE) -> str:
    """The version with git's commit, `.dirty` where files differ from it; else with a hash of the sources."""
    commit = _git(package, "rev-parse", "--short=10", "HEAD")
    if commit is None or _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return f"{dlrmc.__version__}+src.{source_hash(package)}"
    changes = _git(package, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"{dlrmc.__version__}+git.{commit}{'.dirty' if changes else ''}"


def source_hash(package: Path = _PACKAGE) -> str:
    """Ten hex digits over the paths and contents of all sources of the package."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.suffix in _SOURCE_SUFFIXES:
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:10]


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
