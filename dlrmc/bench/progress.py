"""What a sweep tells while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dlrmc.bench.records import Row
    from dlrmc.bench.tasks import Task
    from dlrmc.bench.variants import Variant


class Progress:
    """Listens to a sweep; this one keeps silent."""

    def cell(self, task: Task, number: int, count: int) -> None:
        """A cell begins."""

    def variant(self, variant: Variant) -> None:
        """A variant begins."""

    def row(self, row: Row) -> None:
        """A variant is done."""


SILENT = Progress()
