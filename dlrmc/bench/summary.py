"""What a sweep says: times a cell, each peer over dlrmc, geometric means, and cells won.

A ratio compares two rows of one run. Where a cell was measured in several runs, the latest counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dlrmc.bench.records import Row
from dlrmc.bench.text_table import number, table_lines
from dlrmc.bench.variants import OWN, PEERS, VARIANTS, title_of

METRICS: Final = ("wall_us", "event_us")
SIZE_NAMES: Final = (
    "model",
    "precision",
    "num_cat",
    "batch",
    "dim",
    "bag",
    "rows",
    "dense",
    "bottom",
    "top",
)
_ALWAYS_SHOWN: Final = ("num_cat", "batch")
_SHOWN_OF_PROGRAMS: Final = ("model",)


@dataclass(frozen=True)
class CellResult:
    """The rows of one cell.

    Args:
        key: of the rows.
        own: the row of dlrmc's variant for each variant that it is compared with, of the same run.
        latest: the latest row of each variant.
    """

    key: tuple[Any, ...]
    own: Mapping[str, Row]
    latest: Mapping[str, Row]

    def time_us(self, variant: str, metric: str) -> float | None:
        """The latest time of a variant, None where it failed or was not measured."""
        row = self.latest.get(variant)
        return getattr(row, metric) if row is not None and row.is_ok else None

    def ratio(self, peer: str, metric: str) -> float | None:
        """The peer's time over dlrmc's in the same run; above 1 dlrmc is faster."""
        theirs, ours = self.time_us(peer, metric), getattr(self.own.get(peer), metric, None)
        return None if theirs is None or not ours else theirs / ours

    def best_peer(self, metric: str) -> tuple[str, float] | None:
        """The peer with the smallest ratio, and the ratio."""
        ratios = [(peer.name, self.ratio(peer.name, metric)) for peer in PEERS]
        known = [(name, ratio) for name, ratio in ratios if ratio is not None]
        return min(known, key=lambda each: each[1], default=None)


def collect(rows: Iterable[Row], against: str = "dlrmc") -> tuple[CellResult, ...]:
    """The rows by cell, sorted by sizes.

    Args:
        rows: in the order of measurement.
        against: the variant of dlrmc's that peers are compared with.
    """
    by_cell: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        by_cell.setdefault(row.key, []).append(row)
    return tuple(_cell_result(key, by_cell[key], against) for key in sorted(by_cell))


def _cell_result(key: tuple[Any, ...], rows: Sequence[Row], against: str) -> CellResult:
    latest = {row.variant: row for row in rows}
    ours = {row.run: row for row in rows if row.variant == against and row.is_ok}
    own = {name: ours[row.run] for name, row in latest.items() if row.run in ours}
    return CellResult(key, own, latest)


def geometric_mean(values: Sequence[float]) -> float | None:
    """None for no values."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summary_lines(rows: Sequence[Row], against: str = "dlrmc") -> list[str]:
    """The whole summary as Markdown."""
    results = collect(rows, against)
    if not results:
        return ["no rows"]
    lines: list[str] = []
    for metric in METRICS:
        lines += ["", f"{metric.replace('_us', '')}, microseconds a call", "", *_time_lines(results, metric)]
    for metric in METRICS:
        title = f"{metric.replace('_us', '')}, time over that of {title_of(against)}; above 1 dlrmc is faster"
        lines += ["", title, "", *_ratio_lines(results, metric)]
    lines += ["", *_standing_lines(results), "", *_error_lines(results), *_failure_lines(results)]
    return [*_machine_lines(rows), *lines]


def _time_lines(results: Sequence[CellResult], metric: str) -> list[str]:
    names = _measured(results, [variant.name for variant in VARIANTS])
    shown = _shown_sizes(results)
    rows = [
        [*_sizes(result, shown), *(number(result.time_us(name, metric)) for name in names)]
        for result in results
    ]
    return table_lines([*shown, *names], rows, left=len(shown))


def _ratio_lines(results: Sequence[CellResult], metric: str) -> list[str]:
    names = _measured(results, [peer.name for peer in PEERS])
    shown = _shown_sizes(results)
    rows = []
    for result in results:
        best = result.best_peer(metric)
        ratios = [number(result.ratio(name, metric), 2) for name in names]
        rows.append([*_sizes(result, shown), *ratios, f"{best[1]:.2f} {best[0]}" if best else ""])
    means = [number(geometric_mean(_ratios(results, name, metric)), 2) for name in names]
    bests = [best[1] for result in results if (best := result.best_peer(metric))]
    rows.append(["geometric mean", *[""] * (len(shown) - 1), *means, number(geometric_mean(bests), 2)])
    return table_lines([*shown, *names, "best peer"], rows, left=len(shown))


def _standing_lines(results: Sequence[CellResult]) -> list[str]:
    lines = []
    for metric in METRICS:
        bests = [best[1] for result in results if (best := result.best_peer(metric))]
        won = sum(ratio > 1 for ratio in bests)
        lines.append(f"cells won by {metric.replace('_us', '')}: {won} of {len(bests)}")
    return lines


def _error_lines(results: Sequence[CellResult]) -> list[str]:
    """The largest errors and compile times of each variant."""
    names = _measured(results, [variant.name for variant in VARIANTS])
    rows = []
    for name in names:
        measured = [row for result in results if (row := result.latest.get(name)) and row.is_ok]
        errors = [f"{_largest(measured, field):.2g}" for field in ("max_abs_error", "eager_abs_error")]
        rows.append([name, *errors, number(_largest(measured, "compile_s"), 2), str(len(measured))])
    head = ["variant", "max abs error from float64", "from eager", "largest compile, s", "cells"]
    return table_lines(head, rows)


def _failure_lines(results: Sequence[CellResult]) -> list[str]:
    shown = _shown_sizes(results)
    failed = [
        f"- {name} at {_place(result, shown)}: {row.status}"
        for result in results
        for name, row in result.latest.items()
        if not row.is_ok
    ]
    return ["", "failed:", "", *failed] if failed else []


def _place(result: CellResult, shown: Sequence[str]) -> str:
    return ", ".join(f"{name}={size}" for name, size in zip(shown, _sizes(result, shown), strict=True))


def _machine_lines(rows: Sequence[Row]) -> list[str]:
    """One line for each machine and set of versions."""
    facts = [
        f"{row.gpu}, driver {row.driver}, torch {row.torch}, cupy {row.cupy}, dlrmc {row.dlrmc}"
        for row in rows
    ]
    return [*dict.fromkeys(facts)]


def _measured(results: Sequence[CellResult], names: Sequence[str]) -> list[str]:
    return [name for name in names if any(name in result.latest for result in results)]


def _shown_sizes(results: Sequence[CellResult]) -> list[str]:
    """The sizes that differ between cells, and those that a reader expects in any case."""
    columns = list(zip(*(result.key for result in results), strict=True))
    differing = [
        name for name, values in zip(SIZE_NAMES, columns, strict=True) if any(v != values[0] for v in values)
    ]
    has_sizes = any(result.key[SIZE_NAMES.index("batch")] for result in results)
    always = _ALWAYS_SHOWN if has_sizes else _SHOWN_OF_PROGRAMS
    return [name for name in SIZE_NAMES if name in differing or name in always]


def _sizes(result: CellResult, shown: Sequence[str]) -> list[str]:
    return [str(result.key[SIZE_NAMES.index(name)]) for name in shown]


def _ratios(results: Sequence[CellResult], name: str, metric: str) -> list[float]:
    return [ratio for result in results if (ratio := result.ratio(name, metric)) is not None]


def _largest(rows: Sequence[Row], field: str) -> float:
    return max((value for row in rows if (value := getattr(row, field)) is not None), default=math.nan)


OWN_NAMES: Final = tuple(variant.name for variant in OWN)
