"""How dlrmc stands against each peer over all cells of a sweep, by wall and by events."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dlrmc.bench.cell_results import METRICS, CellResult
from dlrmc.bench.text_table import number, table_lines
from dlrmc.bench.variants import PEERS


def geometric_mean(values: Sequence[float]) -> float | None:
    """None for no values."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def standing_lines(results: Sequence[CellResult]) -> list[str]:
    """A line for each peer, how many cells are won against all of them, and which are not."""
    names = [peer.name for peer in PEERS if any(peer.name in result.latest for result in results)]
    rows = [[name, *_standing([_ratios(result, [name]) for result in results])] for name in names]
    rows.append(["best peer", *_standing([_ratios(result, names) for result in results])])
    parts = ("cells", "geometric mean", "least", "won")
    head = ["peer", *(f"{_title(metric)}: {part}" for metric in METRICS for part in parts)]
    return [*table_lines(head, rows), "", *_won_lines(results, names)]


def is_won(result: CellResult, metric: str, names: Sequence[str]) -> bool:
    """Whether dlrmc is faster than each of the peers that have a time; at least one must have."""
    ratios = _ratios(result, names)[metric]
    return bool(ratios) and min(ratios.values()) > 1


def _ratios(result: CellResult, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The known ratios of some peers by metric and name."""
    return {
        metric: {name: ratio for name in names if (ratio := result.ratio(name, metric)) is not None}
        for metric in METRICS
    }


def _standing(cells: Sequence[dict[str, dict[str, float]]]) -> list[str]:
    """For each metric: cells measured, geometric mean and least of the smallest ratio, cells won."""
    found: list[str] = []
    for metric in METRICS:
        least = [min(cell[metric].values()) for cell in cells if cell[metric]]
        won = str(sum(ratio > 1 for ratio in least))
        found += [str(len(least)), number(geometric_mean(least), 2), number(min(least, default=None), 2), won]
    return found


def _won_lines(results: Sequence[CellResult], names: Sequence[str]) -> list[str]:
    lines = []
    for metric in METRICS:
        measured = [result for result in results if _ratios(result, names)[metric]]
        won = sum(is_won(result, metric, names) for result in measured)
        lines.append(f"cells won by {_title(metric)}: {won} of {len(measured)}")
    measured = [result for result in results if all(_ratios(result, names).values())]
    both = sum(all(is_won(result, metric, names) for metric in METRICS) for result in measured)
    lines.append(f"cells won by both, against every peer that has a time: {both} of {len(measured)}")
    failed = sum(any(name in r.latest and not r.latest[name].is_ok for name in names) for r in results)
    if failed:
        lines.append(f"cells with a peer that failed: {failed}")
    return lines


def _title(metric: str) -> str:
    return metric.removesuffix("_us")
