"""A drawing of wall times as bars, dlrmc beside its peers, for a few cells that stand for a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dlrmc.bench.cell_results import SIZE_NAMES, CellResult, collect
from dlrmc.bench.figures import open_pyplot, save_figure
from dlrmc.bench.records import Row
from dlrmc.bench.variants import PEERS, VARIANTS
from dlrmc.errors import InputError

_MOST_CELLS: Final = 8


def draw_bars(rows: Sequence[Row], path: Path, against: str = "dlrmc") -> None:
    """A group of bars for each cell; of more than eight cells, the corners of tables by batch.

    Raises:
        InputError: no cell has both dlrmc and a peer, or the file cannot be written.
        OptionError: as `open_pyplot`.
    """
    pyplot = open_pyplot(path)
    results = [result for result in collect(rows, against) if result.best_peer("wall_us")]
    if not results:
        raise InputError(str(path), found="no cell with both dlrmc and a peer", expected="a sweep with peers")
    shown = results if len(results) <= _MOST_CELLS else corners(results)
    names = [against, *(peer.name for peer in PEERS)]
    names = [name for name in names if any(result.time_us(name, "wall_us") for result in shown)]
    size = (8.5, 0.5 + len(shown) * (0.22 * len(names) + 0.25))
    figure, axis = pyplot.subplots(figsize=size, layout="constrained")
    for position, name in enumerate(names):
        _draw_variant(axis, shown, name, position, len(names))
    axis.set_yticks(range(len(shown)), [_label(result) for result in shown])
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.margins(x=0.12)
    axis.set_xlabel("wall, microseconds a request")
    axis.grid(visible=True, axis="x", alpha=0.3)
    axis.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    save_figure(figure, path, pyplot)


def corners(results: Sequence[CellResult]) -> list[CellResult]:
    """Of each model and precision, the cells at both ends of tables and of batches."""
    chosen = []
    for kind in dict.fromkeys(result.key[:2] for result in results):
        group = [result for result in results if result.key[:2] == kind]
        ends = [_ends(group, name) for name in ("num_cat", "batch")]
        chosen += [
            result
            for result in group
            if _size(result, "num_cat") in ends[0] and _size(result, "batch") in ends[1]
        ]
    return chosen


def _ends(results: Sequence[CellResult], name: str) -> tuple[int, int]:
    sizes = [_size(result, name) for result in results]
    return min(sizes), max(sizes)


def _draw_variant(axis: Any, results: Sequence[CellResult], name: str, position: int, count: int) -> None:
    height = 0.8 / count
    number, title = next((k, each.title) for k, each in enumerate(VARIANTS) if each.name == name)
    known = [(y, time) for y, result in enumerate(results) if (time := result.time_us(name, "wall_us"))]
    if not known:
        return
    places = [y + (position - (count - 1) / 2) * height for y, _ in known]
    times = [time for _, time in known]
    # The variants keep the colours that they have in other drawings.
    bars = axis.barh(places, times, height=height, color=f"C{number}", label=title)
    axis.bar_label(bars, [f"{time:.1f}" for time in times], padding=2, fontsize=7)


def _label(result: CellResult) -> str:
    model, precision = result.key[:2]
    name = f"{_size(result, 'num_cat')} tables" if model == "dlrm" else model
    kind = "" if precision == "fp32" else f", {precision}"
    return f"{name}, batch {_size(result, 'batch')}{kind}"


def _size(result: CellResult, name: str) -> int:
    return result.key[SIZE_NAMES.index(name)]
