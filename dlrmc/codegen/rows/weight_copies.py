"""When the copies of weights into shared memory start, and how a phase waits for its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.tile_text import indented
from dlrmc.codegen.rows.linear_stage import bulk_weight_copies, copy_weight_statements
from dlrmc.codegen.rows.stage_text import StageContext
from dlrmc.codegen.rows.weight_tiles import BulkCopy
from dlrmc.ir.graph import Node

# Copies of so few bytes do not hold up what is asked for behind them, and loads of so few are not held up.
FIRST_BYTES = 8192
FEW_LOADS_BYTES = 12 * 1024


class WeightCopies:
    """The copies of one row program.

    Where weights stand in memory as they shall stand here, one thread asks for bulk copies, for which nobody
    waits before the phase that reads them. All threads copy the others by cp.async, one group a phase; the
    unit that takes these is busy, and the threads with it, until the last but few have come.

    Args:
        context: of the stages.
        early_bytes: what stages ask for at the begin of a tile. Where that is much, what later phases need
            stands in line behind it: memory answers in the order in which it was asked.
    """

    def __init__(self, context: StageContext, early_bytes: int) -> None:
        self._context = context
        self._early_bytes = early_bytes

    @property
    def first(self) -> list[str]:
        """Statements that start the few for the first barrier, before ids are waited for."""
        return [line for phase in self._grouped if self._is_first(phase) for line in self._group(phase)]

    @property
    def soon(self) -> list[str]:
        """Statements that start those of the first half of the phases, and all that hold nothing up."""
        bulk = [
            line for phase in self._bulk if not self._is_behind(phase) for line in self._start_bulk(phase)
        ]
        soon = [phase for phase in self._grouped if not self._is_late(phase) and not self._is_first(phase)]
        return bulk + [line for phase in soon for line in self._group(phase)]

    @property
    def behind_loads(self) -> list[str]:
        """Statements for behind the first barrier, where all warps have asked for what they load."""
        return [line for phase in self._bulk if self._is_behind(phase) for line in self._start_bulk(phase)]

    @property
    def late(self) -> list[str]:
        """Statements that start the others: they are many, and would hold up ids and rows."""
        return [line for phase in self._grouped if self._is_late(phase) for line in self._group(phase)]

    def enter(self, phase: int) -> Iterator[str]:
        """The barrier to a phase, and the waits for the weights that its stages read.

        The first barrier of the block also shows those of bulk copies to the threads that wait at them.
        """
        if phase in self._grouped:
            yield f"cp_async_wait_group<{sum(other > phase for other in self._grouped)}>();"
        yield "__syncthreads();"
        if phase in self._bulk:
            yield f"copy_barrier_wait({self._barrier(phase)});"

    @cached_property
    def _bulk(self) -> dict[int, list[BulkCopy]]:
        found: dict[int, list[BulkCopy]] = {}
        for stage in self._context.layout.weights:
            copies = bulk_weight_copies(stage, self._context)
            if copies:
                found.setdefault(self._context.layout.phases[stage], []).extend(copies)
        return dict(sorted(found.items()))

    @cached_property
    def _grouped(self) -> dict[int, list[Node]]:
        found: dict[int, list[Node]] = {}
        for stage in self._context.layout.weights:
            if not bulk_weight_copies(stage, self._context):
                found.setdefault(self._context.layout.phases[stage], []).append(stage)
        return dict(sorted(found.items()))

    def _is_first(self, phase: int) -> bool:
        sizes = (self._context.layout.weights[stage].size_bytes for stage in self._grouped[phase])
        return phase <= 1 and sum(sizes) <= FIRST_BYTES

    def _is_behind(self, phase: int) -> bool:
        """A barrier must still stand between the copy's start and the phase."""
        return self._early_bytes > FEW_LOADS_BYTES and phase > 1 and self._is_late(phase)

    def _is_late(self, phase: int) -> bool:
        return phase > self._context.layout.phase_count // 2

    def _barrier(self, phase: int) -> str:
        name = self._context.layout.copy_barriers.name
        return f"{name} + {phase}"

    def _start_bulk(self, phase: int) -> Iterator[str]:
        """By a thread of another warp for each phase, since asking takes a while."""
        warps, barrier = self._context.threads // WARP_LANES, self._barrier(phase)
        thread = (warps - 1 - phase % warps) * WARP_LANES
        copies = self._bulk[phase]
        size_bytes = sum(copy.size_bytes for copy in copies)
        yield f"if (threadIdx.x == {thread}) {{"
        yield from indented(
            [
                f"copy_barrier_init({barrier});",
                f"copy_barrier_expect({barrier}, {size_bytes});",
                *(f"bulk_copy({copy.to}, {copy.start}, {copy.size_bytes}, {barrier});" for copy in copies),
            ]
        )
        yield "}"

    def _group(self, phase: int) -> Iterator[str]:
        for stage in self._grouped[phase]:
            yield from copy_weight_statements(stage, self._context)
        yield "cp_async_commit_group();"
