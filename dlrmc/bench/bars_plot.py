"""Wall times as bars from zero, dlrmc beside its peers, for a few cells that stand for a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from dlrmc.bench.cell_results import SIZE_NAMES, CellResult, collect
from dlrmc.bench.figures import open_pyplot, save_figure
from dlrmc.bench.records import Row
from dlrmc.bench.variants import PEERS, VARIANTS, title_of
from dlrmc.errors import InputError

_MOST_CELLS: Final = 8
_COLUMNS: Final = 2


def draw_bars(rows: Sequence[Row], path: Path, against: str = "dlrmc") -> None:
    """A panel of bars for each cell; of more than eight cells, the corners of tables by batch.

    Raises:
        InputError: no cell has both dlrmc and a peer, or the file cannot be written.
        OptionError: as `open_pyplot`.
    """
    pyplot = open_pyplot(path)
    results = [result for result in collect(rows, against) if result.best_peer("wall_us")]
    if not results:
        raise InputError(str(path), found="no cell with both dlrmc and a peer", expected="a sweep with peers")
    shown = results if len(results) <= _MOST_CELLS else corners(results)
    names = _drawn_names(shown, against)
    columns = min(_COLUMNS, len(shown))
    lines = -(-len(shown) // columns)
    size = (4.4 * columns + 2, 0.6 + lines * (0.28 * len(names) + 0.8))
    figure, panels = pyplot.subplots(
        lines, columns, squeeze=False, sharey=True, figsize=size, layout="constrained"
    )
    panels[0, 0].set_yticks(range(len(names)), [title_of(name) for name in names])
    panels[0, 0].invert_yaxis()
    for panel, result in zip_longest(panels.flat, shown):
        if result is None:
            panel.set_axis_off()
        else:
            _draw_cell(panel, result, names)
    for panel in panels[-1]:
        panel.set_xlabel("wall, microseconds a request")
    save_figure(figure, path, pyplot)


def _drawn_names(results: Sequence[CellResult], against: str) -> list[str]:
    """What has a time. Eager is left out where it is there as a CUDA graph, too.

    Its bar is about ten times as long, and all others would look alike beside it.
    """
    names = [against, *(peer.name for peer in PEERS)]
    names = [name for name in names if any(result.time_us(name, "wall_us") for result in results)]
    return [name for name in names if name != "eager" or "eager_graph" not in names]


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


def _draw_cell(panel: Any, result: CellResult, names: Sequence[str]) -> None:
    """Bars from zero, in an axis of the cell's own."""
    times = [result.time_us(name, "wall_us") for name in names]
    # The variants keep the colours that they have in other drawings.
    colours = [f"C{next(k for k, each in enumerate(VARIANTS) if each.name == name)}" for name in names]
    bars = panel.barh(range(len(names)), [time or 0.0 for time in times], color=colours)
    labels = ["no time" if time is None else f"{time:.1f}" for time in times]
    panel.bar_label(bars, labels, padding=3, fontsize=9)
    panel.set_title(_label(result), fontsize=10)
    panel.margins(x=0.18)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(visible=True, axis="x", alpha=0.3)
    panel.set_axisbelow(True)


def _label(result: CellResult) -> str:
    model, precision = result.key[:2]
    name = f"{_size(result, 'num_cat')} tables" if model == "dlrm" else model
    kind = "" if precision == "fp32" else f", {precision}"
    return f"{name}, batch {_size(result, 'batch')}{kind}"


def _size(result: CellResult, name: str) -> int:
    return result.key[SIZE_NAMES.index(name)]
