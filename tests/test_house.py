"""The rules of the house that no linter knows: names, lengths, packaging, no hidden state, no local paths."""

from __future__ import annotations

import ast
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dlrmc"
PYTHON = sorted(PACKAGE.rglob("*.py"))
FILE_LINES_MAX = 320
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
DEVICE_SUFFIXES = {".cuh", ".cu", ".h"}

# Built from parts so that this file does not hold what it looks for.
MACHINE_PATHS = re.compile("(?<![\\w.])/(?:" + "|".join(["work", "home", "root", "tmp", "Users"]) + ")/\\w+")


def tracked_files() -> list[Path]:
    """The files that git knows, those of an unpacked source archive where there is no git."""
    if not (ROOT / ".git").exists():
        skipped = {".venv", "__pycache__", ".hypothesis", ".ruff_cache", ".pytest_cache"}
        return [path for path in sorted(ROOT.rglob("*")) if path.is_file() and not skipped & set(path.parts)]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_file_or_folder_has_a_vague_name() -> None:
    vague = [
        relative(path)
        for path in tracked_files()
        if VAGUE_NAMES & set(path.relative_to(ROOT).with_suffix("").parts)
    ]
    assert vague == []


def test_files_stay_short() -> None:
    sources = [path for path in PACKAGE.rglob("*") if path.suffix in {".py", *DEVICE_SUFFIXES}]
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(sources)}
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES_MAX} == {}


def test_no_text_names_a_path_of_one_machine() -> None:
    found = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [f"{relative(path)}: {match}" for match in MACHINE_PATHS.findall(text)]
    assert found == []


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hatchling.build import build_wheel  # a machine that only runs the gpu tests has no hatchling

    monkeypatch.chdir(ROOT)
    wheel = tmp_path / build_wheel(str(tmp_path))
    packed = set(zipfile.ZipFile(wheel).namelist())
    wanted = {relative(path) for path in PACKAGE.rglob("*") if path.suffix in {".py", *DEVICE_SUFFIXES}}
    assert {*wanted, "dlrmc/py.typed"} - packed == set()


def mutable_state(text: str) -> list[str]:
    """The names that a module binds at its top level to a list, dict or set, and every `global` statement."""
    tree = ast.parse(text)
    found = [name for statement in tree.body for name in _mutable_names(statement)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            found += [f"global {name}" for name in node.names]
    return found


def _mutable_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Assign):
        targets, value, annotation = statement.targets, statement.value, ""
    elif isinstance(statement, ast.AnnAssign) and statement.value:
        targets, value = [statement.target], statement.value
        annotation = ast.unparse(statement.annotation)
    else:
        return
    if not _is_mutable(value) or re.match(r"(typing\.)?(Final|Mapping|Sequence)\b", annotation):
        return
    yield from (ast.unparse(target) for target in targets if ast.unparse(target) != "__all__")


def _is_mutable(value: ast.expr) -> bool:
    literals = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    if isinstance(value, literals):
        return True
    makers = {"list", "dict", "set", "defaultdict", "deque", "Counter", "OrderedDict", "WeakKeyDictionary"}
    return isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in makers


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_modules_hold_no_mutable_state(path: Path) -> None:
    assert mutable_state(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CACHE = {}", ["CACHE"]),
        ("cache: dict[str, int] = {}", ["cache"]),
        ("A = B = []", ["A", "B"]),
        ("A = collections.defaultdict(list)", ["A"]),
        ("A = {x for x in (1,)}", ["A"]),
        ("def f():\n    global count", ["global count"]),
        ("A: Final = {1: 2}", []),
        ("A = MappingProxyType({1: 2})", []),
        ("A = (1, 2)", []),
        ("__all__ = ['A']", []),
        ("def f():\n    seen = {}", []),
    ],
)
def test_mutable_state_is_seen(text: str, found: list[str]) -> None:
    assert mutable_state(text) == found


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_only_options_reads_the_projects_variables(path: Path) -> None:
    if path.name == "options.py":
        return
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"(?:environ|getenv)\b[^\n]*[\"']DLRMC_\w*", text) == []
