"""Golden files: a test's text is compared with a file of tests/golden, which `make golden` rewrites."""

from __future__ import annotations

import difflib
from pathlib import Path

FOLDER = Path(__file__).parent
MEND = "to mend, if the new text is right: make golden"
_DIFF_LINES_MAX = 80


class GoldenMismatch(AssertionError):
    """A golden file is missing or its text is not that of the test."""


class GoldenFiles:
    """One folder of golden files and the names that this run has used.

    Args:
        folder: where the files are.
        update: write what the tests say instead of comparing.
    """

    def __init__(self, folder: Path, *, update: bool = False) -> None:
        self.folder = folder
        self.update = update
        self.used: set[str] = set()

    def check(self, name: str, text: str) -> None:
        """Compare `text` with the file `name`, which is relative to the folder and may name a subfolder.

        Raises:
            GoldenMismatch: the file is missing or differs; the message has the difference and what mends it.
            ValueError: the name leaves the folder or is that of Python source.
        """
        path = self._path(name)
        self.used.add(name)
        text = text if text.endswith("\n") else text + "\n"
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            raise GoldenMismatch(f"golden file {name} is missing\n{MEND}\nthe text of the test:\n{text}")
        kept = path.read_text(encoding="utf-8")
        if kept != text:
            raise GoldenMismatch(f"golden file {name} is stale\n{MEND}\n{_difference(name, kept, text)}")

    def unused(self) -> tuple[str, ...]:
        """The files that no test of this run has asked for."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and _is_golden(path))
        names = sorted(path.relative_to(self.folder).as_posix() for path in files)
        return tuple(name for name in names if name not in self.used)

    def remove(self, names: tuple[str, ...]) -> None:
        """Delete these files."""
        for name in names:
            self._path(name).unlink()

    def _path(self, name: str) -> Path:
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()) or not _is_golden(path):
            raise ValueError(f"golden name {name!r}: expected a text file below {self.folder.name}/")
        return path


def _is_golden(path: Path) -> bool:
    return path.suffix not in {".py", ".pyc"}


def _difference(name: str, kept: str, text: str) -> str:
    lines = list(
        difflib.unified_diff(kept.splitlines(), text.splitlines(), f"golden/{name}", "the test", lineterm="")
    )
    left_out = len(lines) - _DIFF_LINES_MAX
    if left_out > 0:
        lines = [*lines[:_DIFF_LINES_MAX], f"... {left_out} more lines of difference"]
    return "\n".join(lines)
