"""A drawing of how time grows with each size, with the slope of the work beside it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from dlrmc.bench.figures import open_pyplot, save_figure
from dlrmc.bench.growth import AXES, WORK, Point, growth_series, is_cliff
from dlrmc.bench.records import Row
from dlrmc.bench.variants import VARIANTS
from dlrmc.errors import InputError

_COLUMNS: Final = 3
_WORK_STYLES: Final = (":", "-.", "--")


def draw_growth(rows: Sequence[Row], path: Path, axes: Sequence[str], *, precision: str = "fp32") -> None:
    """A panel for each axis: wall time of each variant, and the work scaled to dlrmc's largest time.

    Raises:
        InputError: no axis has two cells, or the file cannot be written.
        OptionError: as `open_pyplot`.
    """
    pyplot = open_pyplot(path)
    drawn = [axis for axis in axes if len(growth_series(rows, axis, precision=precision)) > 1]
    if not drawn:
        raise InputError(str(path), found="no axis with two cells", expected="rows of `dlrmc bench growth`")
    lines = -(-len(drawn) // _COLUMNS)
    columns = min(_COLUMNS, len(drawn))
    figure, panels = pyplot.subplots(
        lines, columns, squeeze=False, figsize=(4.5 * columns, 3.6 * lines), layout="constrained"
    )
    flat = list(panels.flat)
    for panel, axis in zip(flat, drawn, strict=False):
        _draw_axis(panel, rows, axis, precision)
    for panel in flat[len(drawn) :]:
        panel.set_axis_off()
    figure.legend(*flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    save_figure(figure, path, pyplot)


def _draw_axis(panel: Any, rows: Sequence[Row], axis: str, precision: str) -> None:
    for position, variant in enumerate(VARIANTS):
        points = _timed(growth_series(rows, axis, variant.name, precision=precision))
        if points:
            style = {"color": f"C{position}", "linewidth": 2.0 if variant.is_own else 1.0}
            sizes, times = [point.size for point in points], [point.wall_us for point in points]
            panel.plot(sizes, times, marker="o", markersize=3, label=variant.title, **style)
    _draw_work(panel, _timed(growth_series(rows, axis, precision=precision)))
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xlabel(AXES[axis].title)
    panel.set_ylabel("wall, microseconds a request")
    panel.grid(visible=True, which="both", alpha=0.3)


def _draw_work(panel: Any, points: Sequence[Point]) -> None:
    """Lines with the slope of each measure of work through the last point, and rings around cliffs."""
    if not points:
        return
    sizes = [point.size for point in points]
    last = points[-1]
    lowest = min(point.wall_us or 0 for point in points) / 2
    for (name, amount), style in zip(WORK, _WORK_STYLES, strict=True):
        scaled = [(last.wall_us or 0) * amount(point.cell) / amount(last.cell) for point in points]
        seen = [(size, time) for size, time in zip(sizes, scaled, strict=True) if time >= lowest]
        panel.plot(*zip(*seen, strict=True), style, color="grey", linewidth=1.0, label=f"{name}, scaled")
    cliffs = [after for before, after in pairwise(points) if is_cliff(before, after)]
    if cliffs:
        ring = {"s": 90, "facecolors": "none", "edgecolors": "red"}
        panel.scatter([point.size for point in cliffs], [point.wall_us for point in cliffs], **ring)


def _timed(points: Sequence[Point]) -> list[Point]:
    return [point for point in points if point.wall_us is not None]
