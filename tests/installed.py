"""dlrmc as installed: its entry points in a distribution of its name, and nothing imported."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_as_installed(script: str, folder: Path) -> None:
    """Run a script in a process of its own, with the entry points of pyproject.toml in `folder`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (entry,) = project["entry-points"]["torch_dynamo_backends"].items()
    info = folder / "dlrmc-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dlrmc\nVersion: 0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        f"[torch_dynamo_backends]\n{entry[0]} = {entry[1]}\n", encoding="utf-8"
    )
    paths = os.pathsep.join([str(folder), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
