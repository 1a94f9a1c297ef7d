from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.golden_files import GoldenFiles, GoldenMismatch


def test_a_written_golden_compares_equal(tmp_path: Path) -> None:
    GoldenFiles(tmp_path, update=True).check("ir/one.ir", "graph @one")
    GoldenFiles(tmp_path).check("ir/one.ir", "graph @one\n")


def test_a_missing_golden_names_the_command_that_mends_it(tmp_path: Path) -> None:
    with pytest.raises(GoldenMismatch, match=r"two\.ir is missing\nto mend.*make golden"):
        GoldenFiles(tmp_path).check("two.ir", "text")
    assert not (tmp_path / "two.ir").exists()


def test_a_stale_golden_shows_the_difference_and_the_command(tmp_path: Path) -> None:
    (tmp_path / "one.ir").write_text("a\nb\n")
    with pytest.raises(GoldenMismatch, match=r"(?s)one\.ir is stale\nto mend.*make golden.*-b\n\+c"):
        GoldenFiles(tmp_path).check("one.ir", "a\nc\n")
    assert (tmp_path / "one.ir").read_text() == "a\nb\n"


def test_unused_files_are_told_and_removed(tmp_path: Path) -> None:
    files = GoldenFiles(tmp_path, update=True)
    files.check("used.ir", "a")
    (tmp_path / "old.ir").write_text("b")
    (tmp_path / "code.py").write_text("")
    assert files.unused() == ("old.ir",)
    files.remove(files.unused())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["code.py", "used.ir"]


@pytest.mark.parametrize("name", ["../out.ir", "/out.ir", "golden_files.py"])
def test_a_name_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="expected a text file below"):
        GoldenFiles(tmp_path, update=True).check(name, "text")
