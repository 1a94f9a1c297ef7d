from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlrmc.schedule.arena import ALIGNMENT_BYTES, Interval, pack

KIB = 1024


@st.composite
def intervals(draw: st.DrawFn) -> list[Interval]:
    made: list[Interval] = []
    for _ in range(draw(st.integers(0, 12))):
        first = draw(st.integers(0, 8))
        made.append(Interval(draw(st.integers(0, 2000)), first, first + draw(st.integers(0, 5))))
    return made


@given(intervals())
def test_no_two_buffers_that_live_at_once_share_a_byte(buffers: list[Interval]):
    offsets, arena_bytes = pack(buffers)
    assert len(offsets) == len(buffers)
    for i, one in enumerate(buffers):
        assert offsets[i] % ALIGNMENT_BYTES == 0
        assert 0 <= offsets[i] <= offsets[i] + one.size_bytes <= arena_bytes
        for j in range(i):
            other = buffers[j]
            are_live_at_once = one.first <= other.last and other.first <= one.last
            is_apart = (
                offsets[i] + one.size_bytes <= offsets[j] or offsets[j] + other.size_bytes <= offsets[i]
            )
            assert is_apart or not are_live_at_once or 0 in (one.size_bytes, other.size_bytes)


@given(intervals())
def test_the_arena_is_no_larger_than_all_buffers_and_no_smaller_than_what_lives_at_once(
    buffers: list[Interval],
):
    _, arena_bytes = pack(buffers)
    assert arena_bytes <= sum(-(-each.size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES for each in buffers)
    for launch in range(14):
        live = sum(each.size_bytes for each in buffers if each.first <= launch <= each.last)
        assert arena_bytes >= live


def test_nothing_takes_nothing():
    assert pack([]) == ((), 0)


@pytest.mark.parametrize(
    ("buffers", "offsets", "arena_bytes"),
    [
        # A chain: each buffer is read by the launch that writes the next, so two alternate.
        ([Interval(KIB, 0, 1), Interval(KIB, 1, 2), Interval(KIB, 2, 3)], (0, KIB, 0), 2 * KIB),
        # The first and the last live at once with the one between, and not with each other.
        ([Interval(KIB, 0, 2), Interval(100, 1, 4), Interval(KIB, 3, 4)], (0, KIB, 0), KIB + 256),
        # A hole between two buffers that live is filled.
        (
            [Interval(4 * KIB, 0, 9), Interval(2 * KIB, 0, 1), Interval(KIB, 0, 9), Interval(512, 5, 6)],
            (0, 4 * KIB, 6 * KIB, 4 * KIB),
            7 * KIB,
        ),
        ([Interval(1, 0, 0), Interval(1, 0, 0)], (0, 256), 512),
        ([Interval(0, 0, 0), Interval(10, 0, 0)], (0, 0), 256),
    ],
)
def test_where_buffers_go(buffers: list[Interval], offsets: tuple[int, ...], arena_bytes: int):
    assert pack(buffers) == (offsets, arena_bytes)


@pytest.mark.parametrize(
    ("other", "overlaps"),
    [
        (Interval(1, 0, 1), False),
        (Interval(1, 0, 2), True),
        (Interval(1, 4, 9), True),
        (Interval(1, 5, 9), False),
    ],
)
def test_lives_that_touch_overlap(other: Interval, overlaps: bool):
    one = Interval(1, 2, 4)
    assert one.overlaps(other) == overlaps
    assert other.overlaps(one) == overlaps
