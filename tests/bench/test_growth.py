from __future__ import annotations

from pathlib import Path

import pytest

from dlrmc.bench.growth import (
    AXES,
    Point,
    chosen_axes,
    growth_lines,
    growth_series,
    growth_tasks,
    is_cliff,
    work_ratio,
)
from dlrmc.bench.growth_plot import draw_growth
from dlrmc.bench.records import Row, sizes_of
from dlrmc.bench.workload import Cell
from dlrmc.errors import InputError, OptionError
from tests.bench.fake_bench import row


def rows(axis: str, times: dict[int, float]) -> list[Row]:
    return [row("dlrmc", wall_us, **sizes_of(AXES[axis].cell(size))) for size, wall_us in times.items()]


def test_axes_grow_by_powers_of_two_and_meet_in_the_largest_cell_of_the_sweep() -> None:
    ends = {name: (axis.sizes[0], axis.sizes[-1]) for name, axis in AXES.items()}
    assert ends == {
        "batch": (2, 65536),
        "num_cat": (2, 128),
        "dim": (4, 256),
        "bag": (1, 128),
        "width": (16, 1024),
    }
    base = Cell(32, 2048)
    meeting = {"batch": 2048, "num_cat": 32, "dim": 16, "bag": 2, "width": 64}
    assert all(AXES[name].cell(size) == base for name, size in meeting.items())
    assert AXES["batch"].cell(128) == Cell(32, 128)
    assert (AXES["width"].cell(256).bottom, AXES["width"].cell(256).top) == ((256,), (256, 128, 1))


def test_a_cell_of_several_axes_is_measured_once() -> None:
    tasks = growth_tasks(chosen_axes("all"), precision="tf32")
    cells = [task.cell for task in tasks]
    assert len(cells) == len(set(cells)) == 16 + 7 + 7 + 8 + 7 - 4
    assert {task.options.precision for task in tasks} == {"tf32"}


def test_an_unknown_axis() -> None:
    with pytest.raises(OptionError, match="option --axes: rows"):
        chosen_axes("batch,rows")


def test_the_work_of_a_request() -> None:
    small, large = Cell(1, 1, dim=2, bag=3, rows=2, dense=1, bottom=(1,), top=(1,)), Cell(1, 2)
    # Layers 1-1, 1-2 and 3-1 with biases: 2 + 4 + 4; two rows of two; dense and score; 3 ids and an offset.
    assert small.least_bytes == 4 * (10 + 4 + 2) + 8 * 4
    assert work_ratio(small, small) == 1
    assert work_ratio(small, large) == large.multiply_adds / small.multiply_adds
    more_ids = Cell(1, 1, dim=2, bag=300, rows=2, dense=1, bottom=(1,), top=(1,))
    assert (more_ids.least_bytes, more_ids.named_bytes) == (4 * 16 + 8 * 301, 4 * (10 + 600 + 2) + 8 * 301)
    assert work_ratio(small, more_ids) == more_ids.named_bytes / small.named_bytes


def test_a_series_takes_the_cells_of_its_axis_only() -> None:
    found = [*rows("batch", {64: 5.0, 2048: 17.0}), *rows("dim", {32: 20.0})]
    assert [(point.size, point.wall_us) for point in growth_series(found, "batch")] == [(64, 5), (2048, 17)]
    assert [point.size for point in growth_series(found, "dim")] == [16, 32]
    assert growth_series(found, "batch", "eager") == []
    assert growth_series(found, "batch", precision="tf32") == []


@pytest.mark.parametrize(
    ("before_us", "after_us", "expected"),
    [
        (100.0, 200.0, False),
        (100.0, 240.0, False),
        (100.0, 260.0, True),
        (0.4, 1.3, False),  # within the clocks' noise
        (100.0, None, False),
        (None, 100.0, False),
    ],
)
def test_a_cliff_is_time_that_grows_more_than_work(
    before_us: float | None, after_us: float | None, expected: bool
) -> None:
    # Twice the batch is a little less than twice the work: weights are read once.
    before, after = Cell(2, 16384), Cell(2, 32768)
    assert work_ratio(before, after) == pytest.approx(2, rel=0.01)
    assert is_cliff(Point(1, before, before_us, None), Point(2, after, after_us, None)) is expected


def test_tables_and_cliffs_as_text() -> None:
    lines = growth_lines(rows("batch", {32768: 100.0, 65536: 300.0}), ["batch"])
    assert lines[0].startswith("| batch | wall us | event us | time x | work x |")
    assert [cell.strip() for cell in lines[3].split("|")][1:6] == ["65536", "300.0", "305.0", "3.00", "2.00"]
    assert lines[-1] == "- batch 32768 to 65536: time x 3.00, work x 2.00"
    assert growth_lines(rows("batch", {2: 1.0}), ["batch"])[-1].startswith("no step of time")


def test_a_drawing(tmp_path: Path) -> None:
    found = [*rows("batch", {2: 8.0, 4: 9.0, 65536: 900.0}), *rows("dim", {4: 10.0, 8: 90.0})]
    draw_growth(found, tmp_path / "x.svg", ["batch", "dim", "bag"])
    text = (tmp_path / "x.svg").read_text()
    for title in ("batch", "width of a table", "dlrmc, bound step", "multiply-adds, scaled"):
        assert f"<!-- {title}" in text
    assert "<!-- ids a bag" not in text, "there is only the cell of the other axes"
    with pytest.raises(InputError, match="no axis with two cells"):
        draw_growth(found, tmp_path / "y.svg", ["num_cat"])
