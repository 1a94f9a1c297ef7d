from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlrmc.bench.records import FIELDS, CsvFile, read_csv, write_json
from dlrmc.errors import InputError
from tests.bench.fake_bench import row

ROWS = [row(), row("eager", None, status='RuntimeError: "no", no', note="a, b", max_abs_error=None)]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "x.csv"
    file = CsvFile(path, keep=False)
    for each in ROWS:
        file.append(each)
    assert list(read_csv(path)) == ROWS


def test_a_row_is_in_the_file_when_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    file = CsvFile(path, keep=False)
    assert read_csv(path) == ()
    file.append(ROWS[0])
    assert len(read_csv(path)) == 1


def test_rows_are_kept_only_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    CsvFile(path, keep=False).append(ROWS[0])
    kept = CsvFile(path, keep=True)
    assert list(kept.rows) == ROWS[:1]
    kept.append(ROWS[1])
    assert list(read_csv(path)) == ROWS
    assert CsvFile(path, keep=False).rows == ()
    assert read_csv(path) == ()


def test_a_line_break_in_an_error_stays_in_its_row(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    CsvFile(path, keep=False).append(row(status="one\ntwo"))
    assert read_csv(path)[0].status == "one two"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "no column run, model"),
        (",".join(FIELDS) + "\n" + ",".join(["x"] * len(FIELDS)) + "\n", "x.csv:2, column num_cat: 'x'"),
        ("", "no column run"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_csv(path)


def test_a_short_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    CsvFile(path, keep=False).append(ROWS[0])
    path.write_text(path.read_text()[:-60])
    with pytest.raises(InputError, match=r"x\.csv:2: a line that ends too early"):
        read_csv(path)


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a file that can be written"):
        CsvFile(tmp_path, keep=False)
    with pytest.raises(InputError, match="a file that can be written"):
        write_json(tmp_path, ROWS)


def test_json_has_all_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, ROWS)
    content = json.loads(path.read_text())
    assert (content["schema"], content["version"]) == ("dlrmc-bench", 1)
    assert tuple(content["rows"][0]) == FIELDS
    assert content["rows"][1]["wall_us"] is None
