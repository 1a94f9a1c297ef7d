"""Drawings of a sweep by matplotlib: a heat map of the best peer over dlrmc, and times against one size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dlrmc.bench.cell_results import METRICS, SIZE_NAMES, CellResult, collect
from dlrmc.bench.figures import open_pyplot, save_figure
from dlrmc.bench.records import Row
from dlrmc.bench.variants import VARIANTS, title_of
from dlrmc.errors import InputError, OptionError

_LINE_SIZES: Final = ("batch", "num_cat", "dim", "bag", "rows", "dense", "bottom", "top")
_GRID: Final = ("num_cat", "batch")
_CELL_INCHES: Final = (0.8, 0.48)
_LINE_COLUMNS: Final = 3


def draw_heat_maps(rows: Sequence[Row], path: Path, against: str = "dlrmc") -> None:
    """One map of tables by batch for each metric and each set of the other sizes.

    Raises:
        InputError: no cell has both dlrmc and a peer, or the file cannot be written.
        OptionError: the file's name does not end in .png or .svg, or matplotlib is missing.
    """
    pyplot = open_pyplot(path)
    results = [result for result in collect(rows, against) if result.best_peer("wall_us")]
    if not results:
        raise InputError(str(path), found="no cell with both dlrmc and a peer", expected="a sweep with peers")
    groups = _grouped(results, _GRID)
    maps = [(metric, other, group) for other, group in groups.items() for metric in METRICS]
    tables = max(len({_size(result, "num_cat") for result in group}) for group in groups.values())
    batches = max(len({_size(result, "batch") for result in group}) for group in groups.values())
    size = (max(batches * _CELL_INCHES[0] + 1, 5), len(maps) * (tables * _CELL_INCHES[1] + 0.8) + 0.5)
    figure, axes = pyplot.subplots(len(maps), 1, squeeze=False, figsize=size, layout="constrained")
    figure.suptitle(f"time of the best peer, which is named, over that of {title_of(against)}", fontsize=11)
    for axis, (metric, other, group) in zip(axes.flat, maps, strict=True):
        _draw_map(axis, group, metric, f"{metric.removesuffix('_us')}{other}")
    save_figure(figure, path, pyplot)


def _draw_map(axis: Any, group: Sequence[CellResult], metric: str, title: str) -> None:
    tables = sorted({_size(result, "num_cat") for result in group}, reverse=True)
    batches = sorted({_size(result, "batch") for result in group})
    best = {(_size(r, "num_cat"), _size(r, "batch")): r.best_peer(metric) for r in group}
    values = [[_log2(best.get((table, batch))) for batch in batches] for table in tables]
    # Symmetric around equal times: blue where dlrmc is faster, red where it is slower.
    image = axis.imshow(values, cmap="RdBu", vmin=-3, vmax=3, aspect="auto")
    for y, table in enumerate(tables):
        for x, batch in enumerate(batches):
            if (found := best.get((table, batch))) is not None:
                style = {"ha": "center", "color": _text_colour(image.to_rgba(_log2(found)))}
                axis.text(x, y, f"{found[1]:.1f}x", va="bottom", fontsize=9, **style)
                axis.text(x, y + 0.05, found[0], va="top", fontsize=6.5, **style)
    axis.set_xticks(range(len(batches)), batches)
    axis.set_yticks(range(len(tables)), tables)
    axis.tick_params(length=0)
    axis.set_xlabel("batch")
    axis.set_ylabel("tables")
    axis.set_title(title, fontsize=10)


def _text_colour(background: Sequence[float]) -> str:
    """Black or white, whichever is read better on a colour of red, green and blue (ITU-R BT.601 luma)."""
    red, green, blue = background[:3]
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else "black"


def _log2(best: tuple[str, float] | None) -> float:
    return float("nan") if best is None else math.log2(best[1])


def draw_lines(rows: Sequence[Row], path: Path, size_name: str) -> None:
    """Wall time against one size, a line for each variant, a panel for each set of the other sizes.

    Raises:
        OptionError: there is no such size, the file's name does not end in .png or .svg, or matplotlib is
            missing.
        InputError: there are no times, or the file cannot be written.
    """
    if size_name not in _LINE_SIZES:
        raise OptionError("option --lines", found=size_name, expected="one of " + ", ".join(_LINE_SIZES))
    pyplot = open_pyplot(path)
    groups = {
        other: group for other, group in _grouped(collect(rows), (size_name,)).items() if len(group) > 1
    }
    if not groups:
        raise InputError(
            str(path), found=f"no two cells that differ in {size_name} alone", expected="a sweep"
        )
    columns = min(_LINE_COLUMNS, len(groups))
    lines = -(-len(groups) // columns)
    figure, panels = pyplot.subplots(
        lines, columns, squeeze=False, sharey=True, figsize=(4.2 * columns, 3.4 * lines), layout="constrained"
    )
    drawn = [*panels.flat][: len(groups)]
    for axis, (other, group) in zip(drawn, groups.items(), strict=True):
        _draw_lines(axis, group, size_name)
        axis.set_title(f"wall{other}", fontsize=9)
    for axis in panels.flat[len(groups) :]:
        axis.set_axis_off()
    figure.legend(*_legend(drawn), loc="outside lower center", ncols=3, fontsize=8)
    save_figure(figure, path, pyplot)


def _draw_lines(axis: Any, group: Sequence[CellResult], size_name: str) -> None:
    ordered = sorted(group, key=lambda result: _magnitude(_size(result, size_name)))
    sizes = [_magnitude(_size(result, size_name)) for result in ordered]
    for number, variant in enumerate(VARIANTS):
        times = [result.time_us(variant.name, "wall_us") for result in ordered]
        points = [(x, y) for x, y in zip(sizes, times, strict=True) if y is not None]
        if points:
            style = {"color": f"C{number}", "linewidth": 2.0 if variant.is_own else 1.0}
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=variant.title, **style)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel(size_name)
    axis.set_ylabel("microseconds a call")
    axis.grid(visible=True, which="both", alpha=0.3)


def _legend(axes: Any) -> tuple[list[Any], list[str]]:
    """Handles and labels of all panels, each variant once, in the order of measurement."""
    found = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    labels = [variant.title for variant in VARIANTS if variant.title in found]
    return [found[label] for label in labels], labels


def _magnitude(value: Any) -> float:
    """The value, or the first width of a list of layers."""
    return float(str(value).partition("-")[0])


def _size(result: CellResult, name: str) -> Any:
    return result.key[SIZE_NAMES.index(name)]


def _grouped(results: Sequence[CellResult], varying: Sequence[str]) -> Mapping[str, list[CellResult]]:
    """The results by a text that names what differs between groups, beside the sizes that vary in them."""
    fixed = [name for name in SIZE_NAMES if name not in varying]
    differing = [name for name in fixed if len({_size(result, name) for result in results}) > 1]
    groups: dict[str, list[CellResult]] = {}
    for result in results:
        text = "".join(f", {name} {_size(result, name)}" for name in differing)
        groups.setdefault(text, []).append(result)
    return groups
