"""What the tuner may choose for a row program: rows of a tile and threads of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dlrmc.codegen.kernels.row_program import DEFAULT_THREADS
from dlrmc.codegen.rows.tile_plan import choose_rows
from dlrmc.ir.graph import Graph, Node
from dlrmc.schedule.limits import DeviceLimits

THREADS = (256, 512, 1024)
FAST_COUNT = 6
_TALLEST_FACTOR = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """Rows of a tile and threads of a block; 0 leaves either to the kernel's implementation."""

    rows: int = 0
    threads: int = 0

    def __str__(self) -> str:
        return f"rows={self.rows}, threads={self.threads}" if self.rows else "the static choice"


UNTUNED = Choice()


def candidates(
    kernel: Node, limits: DeviceLimits, effort: str, fits: Callable[[Choice], bool]
) -> tuple[Choice, ...]:
    """What to measure beside the static choice, the most promising first.

    Rows are powers of two from a quarter to four times the static choice, at most the batch rounded up.

    Args:
        kernel: a row program.
        limits: of the GPU.
        effort: `fast`, at most `FAST_COUNT` with the static choice, or `full`.
        fits: whether the kernel can be emitted so; it cannot where its tile needs too much shared memory.
    """
    static = _static(kernel, limits, fits)
    most = 1 << (kernel.attributes.int("batch") - 1).bit_length()
    kept = [
        choice
        for choice in _neighbours(static)
        if 1 <= choice.rows <= most and choice.threads <= limits.threads_per_block and choice != static
    ]
    if effort != "fast":
        return tuple(choice for choice in kept if fits(choice))
    found: list[Choice] = []
    for choice in kept:
        if len(found) == FAST_COUNT - 1:
            break
        if fits(choice):
            found.append(choice)
    return tuple(found)


def _static(kernel: Node, limits: DeviceLimits, fits: Callable[[Choice], bool]) -> Choice:
    """What the implementation takes by itself: it halves the rows until they fit."""
    rows = kernel.attributes.int("rows") or choose_rows(kernel, limits)
    threads = kernel.attributes.int("threads") or DEFAULT_THREADS
    while rows > 1 and not fits(Choice(rows, threads)):
        rows //= 2
    return Choice(rows, threads)


def _neighbours(static: Choice) -> Iterator[Choice]:
    """The static choice with another height, other threads, or both: one change first, small ones first."""
    heights = [static.rows]
    factor = 2
    while factor <= _TALLEST_FACTOR:
        heights += [static.rows * factor, static.rows // factor]
        factor *= 2
    others = [threads for threads in reversed(THREADS) if threads != static.threads]
    yield from (Choice(static.rows, threads) for threads in others)
    yield from (Choice(rows, static.threads) for rows in heights[1:3])
    yield Choice(heights[1], max(THREADS))
    rest = (Choice(rows, threads) for rows in heights[1:] for threads in THREADS)
    seen = {Choice(rows, static.threads) for rows in heights[1:3]} | {Choice(heights[1], max(THREADS))}
    yield from (choice for choice in rest if choice not in seen)


def with_choice(graph: Graph, kernel: Node, choice: Choice) -> Node:
    """Write a choice into the attributes of a kernel, so that it stands in the IR text; the new node."""
    attributes = {**kernel.attributes, "rows": choice.rows, "threads": choice.threads}
    tuned = graph.add(
        kernel.op,
        kernel.operands,
        attributes,
        name=kernel.name,
        source=kernel.source,
        body=kernel.body,
        place=kernel,
    )
    graph.replace(kernel, tuned)
    return tuned
