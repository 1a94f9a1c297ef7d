from __future__ import annotations

import pytest

from dlrmc.ir.rows import MIXED, UNIFORM, Rows, RowTag, joined, leading_rows, rows_or_mixed


@pytest.mark.parametrize(
    ("shape", "batch", "tag"),
    [
        ((8, 3), 8, Rows(1)),
        ((24,), 8, Rows(3)),
        ((8, 0), 8, Rows(1)),
        ((9, 8), 8, MIXED),
        ((4, 8), 8, MIXED),
        ((0, 3), 8, MIXED),
        ((), 8, MIXED),
        ((), 1, MIXED),
        ((5,), 1, Rows(5)),
        ((8,), 0, MIXED),
    ],
)
def test_leading_rows(shape: tuple[int, ...], batch: int, tag: RowTag):
    assert leading_rows(shape, batch) == tag


@pytest.mark.parametrize(
    ("tags", "tag"),
    [
        ([], UNIFORM),
        ([UNIFORM, UNIFORM], UNIFORM),
        ([UNIFORM, Rows(2), UNIFORM], Rows(2)),
        ([Rows(2), Rows(2)], Rows(2)),
        ([Rows(2), Rows(1)], MIXED),
        ([Rows(2), MIXED], MIXED),
        ([MIXED], MIXED),
    ],
)
def test_joined(tags: list[RowTag], tag: RowTag):
    assert joined(tags) == tag
    assert joined(reversed(tags)) == tag


@pytest.mark.parametrize(
    ("tags", "uniform", "tag"),
    [
        ([Rows(1), Rows(1)], [], Rows(1)),
        ([Rows(1)], [UNIFORM], Rows(1)),
        ([Rows(1)], [Rows(1)], MIXED),
        ([Rows(1), Rows(2)], [], MIXED),
        ([Rows(1), UNIFORM], [], MIXED),
        ([UNIFORM, UNIFORM], [UNIFORM], UNIFORM),
        ([UNIFORM], [MIXED], MIXED),
        ([MIXED, MIXED], [], MIXED),
    ],
)
def test_rows_or_mixed(tags: list[RowTag], uniform: list[RowTag], tag: RowTag):
    assert rows_or_mixed(tags, uniform=uniform) == tag
