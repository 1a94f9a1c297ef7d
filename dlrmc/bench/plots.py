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
_INCHES_A_CELL: Final = 0.75


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
    tables = max(len({_size(result, "num_cat") for result in group}) for group in groups.values())
    batches = max(len({_size(result, "batch") for result in group}) for group in groups.values())
    size = (2 * (batches * _INCHES_A_CELL / 1.5 + 2), len(groups) * (tables * _INCHES_A_CELL / 2 + 1.2) + 0.5)
    figure, axes = pyplot.subplots(
        len(groups), len(METRICS), squeeze=False, figsize=size, layout="constrained"
    )
    figure.suptitle(f"time of the best peer over that of {title_of(against)}", fontsize=10)
    for line, (other, group) in zip(axes, groups.items(), strict=True):
        for axis, metric in zip(line, METRICS, strict=True):
            _draw_map(axis, group, metric, f"{metric[:-3]}{other}")
    save_figure(figure, path, pyplot)


def _draw_map(axis: Any, group: Sequence[CellResult], metric: str, title: str) -> None:
    tables = sorted({_size(result, "num_cat") for result in group}, reverse=True)
    batches = sorted({_size(result, "batch") for result in group})
    best = {(_size(r, "num_cat"), _size(r, "batch")): r.best_peer(metric) for r in group}
    values = [[_log2(best.get((table, batch))) for batch in batches] for table in tables]
    # Symmetric around equal times: blue where dlrmc is faster, red where it is slower.
    axis.imshow(values, cmap="RdBu", vmin=-3, vmax=3, aspect="auto")
    for y, table in enumerate(tables):
        for x, batch in enumerate(batches):
            if (found := best.get((table, batch))) is not None:
                colour = "white" if abs(_log2(found)) > 2 else "black"
                axis.text(x, y, f"{found[1]:.1f}x", ha="center", va="center", color=colour, fontsize=8)
    axis.set_xticks(range(len(batches)), batches)
    axis.set_yticks(range(len(tables)), tables)
    axis.set_xlabel("batch")
    axis.set_ylabel("tables")
    axis.set_title(title, fontsize=9)


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
    figure, axes = pyplot.subplots(
        1, len(groups), squeeze=False, figsize=(6 * len(groups), 4.5), layout="constrained"
    )
    for axis, (other, group) in zip(axes[0], groups.items(), strict=True):
        _draw_lines(axis, group, size_name)
        axis.set_title(f"wall{other}", fontsize=9)
    figure.legend(*_legend(axes[0]), loc="outside lower center", ncols=3, fontsize=7)
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
