"""Rows of measurements and their files: CSV, one row a variant and cell, flushed as they come; and JSON."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from dlrmc.bench.workload import Cell
from dlrmc.errors import InputError

OK = "ok"


@dataclass(frozen=True)
class Row:
    """One variant on one cell. Empty fields of the CSV are None here.

    Args:
        run: the process that measured it; numbers are compared within one run only.
        model: `dlrm`, or the name of a user's program; then the sizes are 0.
        variant: a name of `dlrmc.bench.variants.VARIANTS`.
        precision: fp32 or tf32, with torch's own setting in `matmul_precision`.
        bottom: widths separated by `-`, and so `top`.
        event_us: median between two CUDA events; None where the variant uses none, or failed.
        wall_us: a call of many back to back.
        compile_s: seconds to compile, autotuning included, `export_s` of export beside it.
        max_abs_error: from float64, over all requests.
        max_rel_error: the largest one relative to its element.
        eager_abs_error: the largest difference from eager PyTorch in the same precision.
        status: `ok`, or what went wrong in one line.
        note: what a reader must know, as a graph that could not be captured.
    """

    run: str
    model: str
    variant: str
    precision: str
    num_cat: int
    batch: int
    dim: int
    bag: int
    rows: int
    dense: int
    bottom: str
    top: str
    event_us: float | None
    wall_us: float | None
    compile_s: float | None
    export_s: float | None
    max_abs_error: float | None
    max_rel_error: float | None
    eager_abs_error: float | None
    status: str
    note: str
    tune: str
    matmul_precision: str
    gpu: str
    driver: str
    torch: str
    cupy: str
    dlrmc: str
    date: str

    @property
    def key(self) -> tuple[Any, ...]:
        """What was measured: model, sizes and precision, without the variant."""
        return (
            self.model,
            self.precision,
            self.num_cat,
            self.batch,
            self.dim,
            self.bag,
            self.rows,
            self.dense,
            self.bottom,
            self.top,
        )

    @property
    def is_ok(self) -> bool:
        """Whether its times count."""
        return self.status == OK


FIELDS = tuple(field.name for field in dataclasses.fields(Row))


def sizes_of(cell: Cell) -> dict[str, Any]:
    """The fields of a row that say what was measured."""
    sizes: dict[str, Any] = dataclasses.asdict(cell)
    return {**sizes, "bottom": "-".join(map(str, cell.bottom)), "top": "-".join(map(str, cell.top))}


NO_SIZES = sizes_of(Cell(1, 1)) | dict.fromkeys(("num_cat", "batch", "dim", "bag", "rows", "dense"), 0)
NO_SIZES = NO_SIZES | {"bottom": "", "top": ""}


class CsvFile:
    """A CSV that grows by a row at a time, so that an interrupted sweep loses nothing.

    Args:
        path: created with its folder where it is not there.
        keep: whether rows that are there stay; else the file starts anew.

    Raises:
        InputError: the file cannot be written, or has other columns.
    """

    def __init__(self, path: Path, *, keep: bool) -> None:
        self._path = path
        self.rows = read_csv(path) if keep and path.exists() else ()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self.rows:
                self._write([FIELDS], "w")
        except OSError as error:
            raise InputError(
                str(path), found=error.strerror or str(error), expected="a file that can be written"
            ) from error

    def append(self, row: Row) -> None:
        """Write one row; it is in the file when this returns."""
        self._write([[_text(value) for value in dataclasses.astuple(row)]], "a")

    def _write(self, lines: Iterable[Sequence[str]], mode: str) -> None:
        with self._path.open(mode, encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


def read_csv(path: Path) -> tuple[Row, ...]:
    """All rows of a file of `CsvFile`.

    Raises:
        InputError: it cannot be read, or is no such file.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            found = tuple(reader.fieldnames or ())
            lines = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(str(path), found=reason, expected="a CSV of `dlrmc bench`") from error
    missing = [name for name in FIELDS if name not in found]
    if missing:
        raise InputError(
            str(path),
            found=f"no column {', '.join(missing)}",
            expected="a CSV of `dlrmc bench` of this version",
        )
    return tuple(_parsed(line, f"{path}:{number}") for number, line in enumerate(lines, 2))


def write_json(path: Path, rows: Sequence[Row]) -> None:
    """All rows as one JSON object: `schema`, `version`, and `rows`, each with the columns as keys.

    Raises:
        InputError: the file cannot be written.
    """
    content = {"schema": "dlrmc-bench", "version": 1, "rows": [dataclasses.asdict(row) for row in rows]}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(
            str(path), found=error.strerror or str(error), expected="a file that can be written"
        ) from error


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("\n", " ")


def _parsed(line: dict[str, str], place: str) -> Row:
    if None in line.values():
        raise InputError(
            place, found="a line that ends too early", expected="all columns", hint="delete the line"
        )
    values: dict[str, Any] = {}
    for name, kind in get_type_hints(Row).items():
        text = line[name]
        try:
            if kind is str:
                values[name] = text
            elif kind is int:
                values[name] = int(text)
            else:
                values[name] = float(text) if text else None
        except ValueError as error:
            raise InputError(f"{place}, column {name}", found=repr(text), expected="a number") from error
    return Row(**values)
