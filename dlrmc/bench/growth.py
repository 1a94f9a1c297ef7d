"""How time grows with each size of the plain DLRM, held against the growth of the work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from dlrmc.bench.cell_results import collect
from dlrmc.bench.presets import PRESETS
from dlrmc.bench.records import Row
from dlrmc.bench.tasks import Task
from dlrmc.bench.text_table import number, table_lines
from dlrmc.bench.work import CompileOptions
from dlrmc.bench.workload import Cell
from dlrmc.errors import OptionError

_BASE: Final = PRESETS["seed"]  # 32 tables, batch 2048
# A step is a cliff where time grows by this factor more than the work, and by more than the clocks' noise.
_CLIFF: Final = 1.25
_NOISE_US: Final = 1.0


@dataclass(frozen=True)
class Axis:
    """One size that grows by powers of two while the others stay at those of the largest seed cell.

    Args:
        title: for a reader.
        sizes: in order.
        cell: of a size.
    """

    title: str
    sizes: tuple[int, ...]
    cell: Callable[[int], Cell]


def _powers(first: int, last: int) -> tuple[int, ...]:
    return tuple(1 << k for k in range(first.bit_length() - 1, last.bit_length()))


def _with(name: str) -> Callable[[int], Cell]:
    return lambda size: dataclasses.replace(_BASE, **{name: size})


def _wide(width: int) -> Cell:
    return dataclasses.replace(_BASE, bottom=(width,), top=(width, max(1, width // 2), 1))


AXES: Final[Mapping[str, Axis]] = MappingProxyType(
    {
        "batch": Axis("batch", _powers(2, 65536), _with("batch")),
        "num_cat": Axis("tables", _powers(2, 128), _with("num_cat")),
        "dim": Axis("width of a table's rows", _powers(4, 256), _with("dim")),
        "bag": Axis("ids a bag", _powers(1, 128), _with("bag")),
        "width": Axis("width of the MLPs' first layers", _powers(16, 1024), _wide),
    }
)


# Names and measures of work. Rows that several ids name count as often: most come from L2, and all are added.
WORK: Final[tuple[tuple[str, Callable[[Cell], int]], ...]] = (
    ("least bytes", lambda cell: cell.least_bytes),
    ("bytes that ids name", lambda cell: cell.named_bytes),
    ("multiply-adds", lambda cell: cell.multiply_adds),
)


@dataclass(frozen=True)
class Point:
    """One cell of a series.

    Args:
        size: on the axis.
        cell: all sizes.
        wall_us: of one variant, None where it failed.
        event_us: likewise.
    """

    size: int
    cell: Cell
    wall_us: float | None
    event_us: float | None


def chosen_axes(names: str) -> tuple[str, ...]:
    """Names separated by commas, or `all`.

    Raises:
        OptionError: there is no such axis.
    """
    chosen = [*AXES] if names == "all" else [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in AXES:
            raise OptionError("option --axes", found=name, expected="all, or of " + ", ".join(AXES))
    return tuple(chosen)


def growth_tasks(axes: Sequence[str], *, precision: str = "fp32", tune: str = "off") -> tuple[Task, ...]:
    """The cells of some axes, each once."""
    cells = [AXES[name].cell(size) for name in axes for size in AXES[name].sizes]
    return tuple(Task(cell, CompileOptions(precision, tune)) for cell in dict.fromkeys(cells))


def growth_series(
    rows: Sequence[Row], axis: str, variant: str = "dlrmc", *, precision: str = "fp32"
) -> list[Point]:
    """The cells of one axis that were measured, by size."""
    found = {result.key: result for result in collect(rows)}
    points = []
    for size in AXES[axis].sizes:
        cell = AXES[axis].cell(size)
        result = found.get(Task(cell, CompileOptions(precision)).key)
        if result is not None and variant in result.latest:
            times = (result.time_us(variant, metric) for metric in ("wall_us", "event_us"))
            points.append(Point(size, cell, *times))
    return points


def work_ratio(before: Cell, after: Cell) -> float:
    """How much more work a cell is than another: by the measure of `WORK` that grows most."""
    return max(amount(after) / amount(before) for _, amount in WORK)


def is_cliff(before: Point, after: Point) -> bool:
    """Whether the wall time of a step grows clearly more than the work."""
    if before.wall_us is None or after.wall_us is None:
        return False
    allowed_us = before.wall_us * work_ratio(before.cell, after.cell) * _CLIFF
    return after.wall_us > max(allowed_us, before.wall_us + _NOISE_US)


def growth_lines(rows: Sequence[Row], axes: Sequence[str], *, precision: str = "fp32") -> list[str]:
    """A table for each axis, and the cliffs."""
    lines: list[str] = []
    cliffs: list[str] = []
    for axis in axes:
        points = growth_series(rows, axis, precision=precision)
        title = AXES[axis].title
        lines += [*_axis_lines(title, points), ""]
        for before, after in pairwise(points):
            if is_cliff(before, after):
                cliffs.append(f"{title} {before.size} to {after.size}: {_step(before, after)}")
    found = [f"- {cliff}" for cliff in cliffs] or [
        "no step of time is more than a quarter above that of work"
    ]
    return [*lines, "cliffs:", "", *found]


def _axis_lines(title: str, points: Sequence[Point]) -> list[str]:
    head = [title, "wall us", "event us", "time x", "work x", *(f"M {name}" for name, _ in WORK)]
    body = []
    for before, point in zip([None, *points], points, strict=False):
        times = [number(point.wall_us), number(point.event_us)]
        steps = ["", ""] if before is None else [_time_ratio(before, point), _work_ratio(before, point)]
        work = [number(amount(point.cell) / 1e6, 3) for _, amount in WORK]
        body.append([str(point.size), *times, *steps, *work])
    return table_lines(head, body)


def _step(before: Point, after: Point) -> str:
    return f"time x {_time_ratio(before, after)}, work x {_work_ratio(before, after)}"


def _time_ratio(before: Point, after: Point) -> str:
    if before.wall_us is None or after.wall_us is None:
        return ""
    return number(after.wall_us / before.wall_us, 2)


def _work_ratio(before: Point, after: Point) -> str:
    return number(work_ratio(before.cell, after.cell), 2)
