"""Data flows one way: each folder imports only those above it, torch and cupy stay where they belong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "dlrmc"

# What each part may import beside itself; errors and options are open to all.
ALLOWED = {
    "ir": set(),
    "frontend": {"ir"},
    "passes": {"ir"},
    "schedule": {"ir", "passes"},
    "codegen": {"ir", "passes", "schedule"},
    "emulator": {"ir", "passes", "schedule", "codegen"},
    "runtime": {"ir", "frontend", "passes", "schedule", "codegen", "emulator"},
}
OPEN_TO_ALL = {"errors", "options"}
NAMES_OF_THE_PACKAGE = {"__version__"}
TOP = {"cli", "bench", "compile", "dynamo", "__init__", "__main__"}
TORCH_IN = {"frontend", "runtime", *TOP}
CUDA_IN = {"runtime"}
# What a device folder must not pull in by another name.
CUDA_PACKAGES = {"cupy", "cupyx", "cuda", "pynvml"}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """The folder directly below dlrmc, or the module's name for a file that stands there."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Every absolute module name that the source imports; `from dlrmc import ir` counts as dlrmc.ir."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "dlrmc":
            yield from (f"dlrmc.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def breaches(part: str, text: str) -> list[str]:
    """The imports of `text`, standing in `part`, that the layers forbid."""
    found = []
    for module in imported_modules(ast.parse(text)):
        root, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        if root == "dlrmc" and target in NAMES_OF_THE_PACKAGE:
            continue
        if root == "torch" and part not in TORCH_IN:
            found.append(f"{module}: torch belongs in {', '.join(sorted(TORCH_IN))}")
        elif root in CUDA_PACKAGES and part not in CUDA_IN:
            found.append(f"{module}: CUDA packages belong in runtime")
        elif root == "dlrmc" and part in OPEN_TO_ALL and target not in OPEN_TO_ALL:
            found.append(f"{module}: {part} may import errors and options only")
        elif root == "dlrmc" and part in ALLOWED and target not in {part, *ALLOWED[part], *OPEN_TO_ALL}:
            found.append(f"{module}: {part} may import {', '.join(sorted(ALLOWED[part])) or 'no other part'}")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_follow_the_layers(path: Path) -> None:
    assert breaches(part_of(path), path.read_text(encoding="utf-8")) == []


def test_every_part_is_known() -> None:
    known = {*ALLOWED, *OPEN_TO_ALL, *TOP}
    assert {part_of(path) for path in SOURCES} <= known


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("ir", "from dlrmc.passes import driver"),
        ("ir", "import dlrmc.codegen.source"),
        ("passes", "from dlrmc import frontend"),
        ("passes", "import torch.fx"),
        ("codegen", "def f():\n    import cupy"),
        ("frontend", "from cupy.cuda import nvrtc"),
        ("schedule", "from dlrmc.codegen import source"),
        ("emulator", "from dlrmc.runtime import executor"),
        ("errors", "from dlrmc.ir import graph"),
    ],
)
def test_a_breach_is_seen(part: str, text: str) -> None:
    assert len(breaches(part, text)) == 1


def test_what_is_allowed_passes() -> None:
    assert (
        breaches("codegen", "from dlrmc.errors import CodegenError\nfrom dlrmc.ir.graph import Graph") == []
    )
    assert breaches("runtime", "import cupy\nimport torch\nfrom dlrmc.emulator import run") == []
