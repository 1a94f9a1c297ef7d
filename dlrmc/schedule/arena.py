"""Packing of intermediates into one arena by lifetime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT_BYTES = 256


@dataclass(frozen=True, slots=True)
class Interval:
    """A buffer that is written at launch `first` and read last at launch `last`, both inclusive."""

    size_bytes: int
    first: int
    last: int

    def overlaps(self, other: Interval) -> bool:
        """Whether both buffers hold live data during some launch."""
        return self.first <= other.last and other.first <= self.last


def pack(intervals: Sequence[Interval]) -> tuple[tuple[int, ...], int]:
    """Place every buffer so that no two that live at once share a byte.

    Greedy by size: the largest first, each at the lowest offset that is free during its whole life (Pisarchyk
    and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).

    Returns:
        The offset of each buffer in bytes, aligned to ALIGNMENT_BYTES, and the size of the arena in bytes.
    """
    offsets: dict[int, int] = {}
    order = sorted(range(len(intervals)), key=lambda i: (-intervals[i].size_bytes, i))
    for index in order:
        taken = sorted(
            (offsets[other], offsets[other] + intervals[other].size_bytes)
            for other in offsets
            if intervals[other].overlaps(intervals[index])
        )
        offsets[index] = _lowest_gap(taken, intervals[index].size_bytes)
    ends = [offsets[i] + _aligned(intervals[i].size_bytes) for i in range(len(intervals))]
    return tuple(offsets[i] for i in range(len(intervals))), max(ends, default=0)


def _lowest_gap(taken: Sequence[tuple[int, int]], size_bytes: int) -> int:
    offset = 0
    for start, end in taken:
        if offset + size_bytes <= start:
            return offset
        offset = max(offset, _aligned(end))
    return offset


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
