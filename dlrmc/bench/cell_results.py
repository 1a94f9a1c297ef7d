"""The rows of a sweep by cell, with the ratios of peers to dlrmc.

A ratio compares two rows of one run. Where a cell was measured in several runs, the latest counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dlrmc.bench.records import Row
from dlrmc.bench.variants import PEERS

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
