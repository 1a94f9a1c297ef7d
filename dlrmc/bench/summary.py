"""What a sweep says: times a cell, each peer over dlrmc, geometric means, and cells won."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dlrmc.bench.cell_results import METRICS, SIZE_NAMES, CellResult, collect
from dlrmc.bench.records import Row
from dlrmc.bench.standing import geometric_mean, standing_lines
from dlrmc.bench.text_table import number, table_lines
from dlrmc.bench.variants import OWN, PEERS, VARIANTS, title_of

_ALWAYS_SHOWN: Final = ("num_cat", "batch")
_SHOWN_OF_PROGRAMS: Final = ("model",)


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
    lines += ["", *standing_lines(results), *lost_lines(results), "", *_error_lines(results)]
    lines += _failure_lines(results)
    return [*machine_lines(rows), *lines]


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


def _error_lines(results: Sequence[CellResult]) -> list[str]:
    """The largest errors and compile times of each variant."""
    names = _measured(results, [variant.name for variant in VARIANTS])
    rows = []
    for name in names:
        measured = [row for result in results if (row := result.latest.get(name)) and row.is_ok]
        errors = [_largest(measured, field) for field in ("max_abs_error", "eager_abs_error")]
        shown = ["" if error is None else f"{error:.2g}" for error in errors]
        rows.append([name, *shown, number(_largest(measured, "compile_s"), 2), str(len(measured))])
    head = ["variant", "max abs error from float64", "from eager", "largest compile, s", "cells"]
    return table_lines(head, rows)


def lost_lines(results: Sequence[CellResult]) -> list[str]:
    """Every peer that is as fast as dlrmc somewhere, or faster."""
    shown = _shown_sizes(results)
    lost = [
        f"- {metric.replace('_us', '')} at {_place(result, shown)}: {peer.name} takes {ratio:.2f} of the time"
        for result in results
        for metric in METRICS
        for peer in PEERS
        if (ratio := result.ratio(peer.name, metric)) is not None and ratio <= 1
    ]
    return ["", "not won:", "", *lost] if lost else []


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


def machine_lines(rows: Sequence[Row]) -> list[str]:
    """One line for each machine and set of versions."""
    facts = [
        f"{row.gpu}, driver {row.driver}, torch {row.torch}, cupy {row.cupy}, dlrmc {row.dlrmc}"
        for row in rows
    ]
    return [*dict.fromkeys(facts)]


def _measured(results: Sequence[CellResult], names: Sequence[str]) -> list[str]:
    return [name for name in names if any(name in result.latest for result in results)]


def _shown_sizes(results: Sequence[CellResult]) -> list[str]:
    """The sizes that differ between cells of one model, and those that a reader expects in any case."""
    by_model: dict[str, list[CellResult]] = {}
    for result in results:
        by_model.setdefault(str(result.key[0]), []).append(result)
    differing = {name for group in by_model.values() for name in _differing(group)}
    if len(by_model) > 1:
        differing.add("model")
    said = [name for name in _ALWAYS_SHOWN if any(_sizes(result, [name]) != ["0"] for result in results)]
    always = said or _SHOWN_OF_PROGRAMS
    return [name for name in SIZE_NAMES if name in differing or name in always]


def _differing(results: Sequence[CellResult]) -> list[str]:
    columns = zip(*(result.key for result in results), strict=True)
    return [
        name for name, values in zip(SIZE_NAMES, columns, strict=True) if any(v != values[0] for v in values)
    ]


def _sizes(result: CellResult, shown: Sequence[str]) -> list[str]:
    return [str(result.key[SIZE_NAMES.index(name)]) for name in shown]


def _ratios(results: Sequence[CellResult], name: str, metric: str) -> list[float]:
    return [ratio for result in results if (ratio := result.ratio(name, metric)) is not None]


def _largest(rows: Sequence[Row], field: str) -> float | None:
    return max((value for row in rows if (value := getattr(row, field)) is not None), default=None)


OWN_NAMES: Final = tuple(variant.name for variant in OWN)
