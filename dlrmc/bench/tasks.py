"""What a sweep has to measure, what of it is left, and in which order it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dlrmc.bench.gpu_access import GpuAccess
from dlrmc.bench.records import Row, sizes_of
from dlrmc.bench.variants import Variant
from dlrmc.bench.work import CompileOptions, Work, cell_work
from dlrmc.bench.workload import Cell


@dataclass(frozen=True)
class Task:
    """One cell in one precision; another kind of work derives from it."""

    cell: Cell
    options: CompileOptions
    model: str = "dlrm"

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of its rows that say what is measured."""
        return {"model": self.model, **sizes_of(self.cell)}

    @property
    def key(self) -> tuple[Any, ...]:
        """As `Row.key`."""
        facts = self.facts
        names = ("num_cat", "batch", "dim", "bag", "rows", "dense", "bottom", "top")
        return (facts["model"], self.options.precision, *(facts[name] for name in names))

    def make_work(self, device: torch.device, gpu: GpuAccess) -> Work:
        """The model on the device, with its requests."""
        return cell_work(self.cell, device, self.options, gpu)


def pending(tasks: Sequence[Task], variants: Sequence[Variant], rows: Sequence[Row]) -> tuple[Task, ...]:
    """The tasks that are not complete in the rows.

    A cell is complete when one run has a row of every variant asked for: numbers of different runs are not
    compared with each other. A row that failed counts: it would fail again.
    """
    seen: dict[tuple[Any, ...], dict[str, list[str]]] = {}
    for row in rows:
        seen.setdefault(row.key, {}).setdefault(row.run, []).append(row.variant)
    wanted = {variant.name for variant in variants}
    return tuple(
        task for task in tasks if not any(wanted <= set(names) for names in seen.get(task.key, {}).values())
    )


def in_tuning_order(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The order for several processes at once: numbers of tables from both ends, otherwise as given.

    Autotuners keep a result for each shape. Most layers' shapes depend on the batch, but not on the number of
    tables: with the batch varying fastest, processes that start together tune different shapes, and every
    later number of tables finds them done. Most tables come first, since they take longest, and fewest next:
    a sweep that is cut short has the ends of its range.
    """
    counts = sorted({task.cell.num_cat for task in tasks})
    distance = {count: min(k, len(counts) - 1 - k) for k, count in enumerate(counts)}
    return tuple(sorted(tasks, key=lambda task: (distance[task.cell.num_cat], -task.cell.num_cat)))
