"""The parts of the documents that are made from recorded runs, the CSVs in docs/performance; `make docs`.

A new run is a new CSV in place of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from dlrmc.bench.cell_results import SIZE_NAMES, CellResult, collect
from dlrmc.bench.records import Row, read_csv
from dlrmc.bench.standing import standing_lines
from dlrmc.bench.summary import lost_lines, machine_lines
from dlrmc.bench.text_table import number, table_lines
from dlrmc.bench.variants import PEERS

FOLDER: Final = Path(__file__).parent / "performance"
_SHOWN_TABLES: Final = (2, 32)
_SHOWN_BATCHES: Final = (2, 256, 2048)
_WALL: Final = "wall_us"


def seed_sweep() -> Iterator[str]:
    """How dlrmc stands against each peer, and its times by tables and batch."""
    rows = read_csv(FOLDER / "seed.csv")
    results = collect(rows)
    yield from _measured_on(rows)
    yield from standing_lines(results)
    yield from lost_lines(results)
    yield from ("", "`step()`, wall us, tables by batch:", "")
    yield from _matrix(results, lambda result: number(result.time_us("dlrmc", _WALL)))
    yield from ("", "The same between two events:", "")
    yield from _matrix(results, lambda result: number(result.time_us("dlrmc", "event_us")))


def presets() -> Iterator[str]:
    """Each model and precision beside its peers, and whether it is faster than the best of them."""
    rows = read_csv(FOLDER / "presets.csv")
    yield from _measured_on(rows)
    yield from _beside_peers(collect(rows), ("model", "precision", "batch"))


def zoo() -> Iterator[str]:
    """Each public model beside its peers, and at how many of them dlrmc is the fastest."""
    rows = read_csv(FOLDER / "zoo.csv")
    results = collect(rows)
    yield from _measured_on(rows)
    yield from _beside_peers(results, ("model", "batch"))
    yield ""
    yield _zoo_standing(results)
    yield from _failures(results)


def _zoo_standing(results: Sequence[CellResult]) -> str:
    peers = _peers(results)
    faster: dict[str, list[bool]] = {}
    for result in results:
        best = result.best_peer(_WALL)
        faster.setdefault(result.key[0], []).append(best is not None and best[1] > 1)
    requests = [each for cells in faster.values() for each in cells]
    whole = sum(all(result.ratio(name, _WALL) is not None for name in peers) for result in results)
    return (
        f"Faster than every peer that has a time: {sum(requests)} of {len(requests)} requests, and at every "
        f"batch {sum(map(all, faster.values()))} of {len(faster)} models; {whole} requests have the times of "
        f"all peers."
    )


def _failures(results: Sequence[CellResult]) -> Iterator[str]:
    """Which variants failed, by what they said: models by error."""
    found: dict[str, list[str]] = {}
    for result in results:
        for name, row in result.latest.items():
            if not row.is_ok:
                found.setdefault(f"{name}: {row.status}", []).append(f"{result.key[0]} at {result.key[3]}")
    for status, places in found.items():
        yield from ("", f"{', '.join(places)}: {status}")


def numbers() -> Iterator[str]:
    """The README's table: ends of the seed sweep, and the models of real sizes."""
    cells = [*collect(read_csv(FOLDER / "seed.csv"))]
    shown = [cell for cell in cells if cell.key[2] in _SHOWN_TABLES and cell.key[3] in _SHOWN_BATCHES]
    shown += [
        cell for cell in collect(read_csv(FOLDER / "presets.csv")) if cell.key[3] == max(_SHOWN_BATCHES)
    ]
    names = ("dlrmc", "eager_graph", "inductor", "stacked")
    body = []
    for cell in shown:
        times = [number(cell.time_us(name, _WALL)) for name in names]
        times[0] = f"**{times[0]}**"
        body.append([_model(cell), str(cell.key[3]), *times, _over(cell, _WALL)])
    head = [
        *("model", "batch", "dlrmc", "eager + CUDA graph", "inductor max-autotune + CUDA graph"),
        *("tables stacked by hand, the same", "best peer over dlrmc"),
    ]
    yield from table_lines(head, body)


def _measured_on(rows: Sequence[Row]) -> Iterator[str]:
    """Days, machines and versions."""
    days = " and ".join(sorted({row.date.partition("T")[0] for row in rows}))
    yield from (f"- {days}: {machine}" for machine in machine_lines(rows))
    yield ""


def _beside_peers(results: Sequence[CellResult], sizes: Sequence[str]) -> Iterator[str]:
    peers = _peers(results)
    body = []
    for result in results:
        times = [number(result.time_us(name, _WALL)) for name in ("dlrmc", *peers)]
        over = [_over(result, metric) for metric in (_WALL, "event_us")]
        shown = [str(result.key[SIZE_NAMES.index(name)]) for name in sizes]
        body.append([*shown, *times, *over, _difference(result)])
    head = [*sizes, "dlrmc", *peers, "best peer over dlrmc", "by events", "difference from eager"]
    yield from table_lines(head, body, left=len(sizes) - 1)


def _peers(results: Sequence[CellResult]) -> list[str]:
    return [peer.name for peer in PEERS if any(peer.name in result.latest for result in results)]


def _difference(result: CellResult) -> str:
    """From eager, by dlrmc."""
    own = result.latest.get("dlrmc")
    return "" if own is None or own.eager_abs_error is None else f"{own.eager_abs_error:.1e}"


def _over(result: CellResult, metric: str) -> str:
    best = result.best_peer(metric)
    return "" if best is None else f"{best[1]:.2f}"


def _model(cell: CellResult) -> str:
    model, precision, tables = cell.key[:3]
    return f"plain DLRM, {tables} tables" if model == "dlrm" else f"`{model}` sizes, {precision}"


def _matrix(results: Sequence[CellResult], shown: Callable[[CellResult], str]) -> Iterator[str]:
    """Tables by batch."""
    by_size = {result.key[2:4]: shown(result) for result in results}
    tables, batches = (sorted({size[k] for size in by_size}) for k in (0, 1))
    body = [[str(table), *(by_size.get((table, batch), "") for batch in batches)] for table in tables]
    yield from table_lines(["tables", *map(str, batches)], body)


PARTS: Final = MappingProxyType(
    {"seed_sweep": seed_sweep, "presets": presets, "zoo": zoo, "numbers": numbers}
)
