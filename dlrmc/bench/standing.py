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
    """A line for each peer, and in how many cells dlrmc is faster than every one of them."""
    names = _measured_peers(results)
    rows = [[name, *_standing([_ratios(result, [name]) for result in results])] for name in names]
    rows.append(["best peer", *_standing([_ratios(result, names) for result in results])])
    parts = ("cells", "geometric mean", "least", "won")
    head = ["peer", *(f"{_title(metric)}: {part}" for metric in METRICS for part in parts)]
    return [*table_lines(head, rows), "", *won_lines(results)]


def won_lines(results: Sequence[CellResult]) -> list[str]:
    """In how many cells dlrmc is faster than every peer, by each clock and by both.

    A cell where a peer has no time is not won: nobody knows.
    """
    names = _measured_peers(results)
    won = {metric: _won(results, metric, names) for metric in METRICS}
    counts = [f"{sum(cells)} of {len(cells)} cells by {_title(metric)}" for metric, cells in won.items()]
    both = sum(all(cell) for cell in zip(*won.values(), strict=True))
    lines = [f"faster than every peer ({', '.join(names)}): {', '.join(counts)}, {both} by both"]
    lacking = sum(any(result.time_us(name, "wall_us") is None for name in names) for result in results)
    if lacking:
        lines.append(f"cells that lack the time of a peer, and are not won: {lacking}")
    return lines


def _measured_peers(results: Sequence[CellResult]) -> list[str]:
    return [peer.name for peer in PEERS if any(peer.name in result.latest for result in results)]


def _won(results: Sequence[CellResult], metric: str, names: Sequence[str]) -> list[bool]:
    """For each cell, whether dlrmc is faster than each of the peers that this clock can time anywhere."""
    timed = [name for name in names if any(result.time_us(name, metric) is not None for result in results)]
    ratios = [[result.ratio(name, metric) for name in timed] for result in results]
    return [bool(timed) and all(ratio is not None and ratio > 1 for ratio in cell) for cell in ratios]


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


def _title(metric: str) -> str:
    return metric.removesuffix("_us")
