from __future__ import annotations

import pytest

from dlrmc.bench.cell_results import collect
from dlrmc.bench.records import NO_SIZES
from dlrmc.bench.standing import geometric_mean
from dlrmc.bench.summary import summary_lines
from tests.bench.fake_bench import row

CELL_A = [row("dlrmc", 10.0), row("eager", 200.0), row("inductor", 40.0)]
CELL_B = [
    row("dlrmc", 20.0, num_cat=32),
    row("eager", 100.0, num_cat=32),
    row("inductor", 10.0, num_cat=32),
]


def table(lines: list[str], title: str) -> dict[str, list[str]]:
    """The table after a title, cells by the joined first columns before the times."""
    start = next(k for k, line in enumerate(lines) if line.startswith(title)) + 2
    body = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        body.append([cell.strip() for cell in line.strip("|").split("|")])
    return {" ".join(filter(None, cells[:2])): cells[2:] for cells in body}


def test_times_and_ratios_of_each_cell() -> None:
    lines = summary_lines([*CELL_A, *CELL_B])
    assert table(lines, "wall, microseconds")["2 8"] == ["10.0", "200.0", "40.0"]
    assert table(lines, "event, microseconds")["2 8"] == ["15.0", "205.0", "45.0"]
    ratios = table(lines, "wall, time over")
    assert ratios["num_cat batch"] == ["eager", "inductor", "best peer"]
    assert ratios["2 8"] == ["20.00", "4.00", "4.00 inductor"]
    assert ratios["32 8"] == ["5.00", "0.50", "0.50 inductor"]
    assert ratios["geometric mean"] == ["10.00", "1.41", "1.41"]
    assert (
        "faster than every peer (eager, inductor): 1 of 2 cells by wall, 1 of 2 cells by event, 1 by both"
        in lines
    )


def test_a_tie_is_not_won() -> None:
    lines = summary_lines([row("dlrmc", 10.0), row("eager", 10.0)])
    assert any("0 of 1 cells by wall, 0 of 1 cells by event, 0 by both" in line for line in lines)


def test_the_standing_against_each_peer_and_all_of_them() -> None:
    cells = [*CELL_A, row("xla", 90.0, event_us=None), *CELL_B]
    lines = summary_lines(cells)
    head = next(k for k, line in enumerate(lines) if line.startswith("| peer "))
    body = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[head + 2 : head + 6]]
    assert body == [
        ["eager", "2", "10.00", "5.00", "2", "2", "7.58", "4.20", "2"],
        ["xla", "1", "9.00", "9.00", "1", "0", "", "", "0"],
        ["inductor", "2", "1.41", "0.50", "1", "2", "1.34", "0.60", "1"],
        ["best peer", "2", "1.41", "0.50", "1", "2", "1.34", "0.60", "1"],
    ]
    # XLA has no events, and no time at all for the second cell, which dlrmc would lose anyway.
    assert any("1 of 2 cells by wall, 1 of 2 cells by event, 1 by both" in line for line in lines)
    assert "cells that lack the time of a peer, and are not won: 1" in lines
    assert "- wall at num_cat=32, batch=8: inductor takes 0.50 of the time" in lines
    assert not any("failed" in line for line in lines)


def test_a_cell_is_won_by_both_clocks_or_not_at_all() -> None:
    lines = summary_lines([row("dlrmc", 10.0), row("eager", 20.0, event_us=14.0)])
    assert any("1 of 1 cells by wall, 0 of 1 cells by event, 0 by both" in line for line in lines)


def test_only_numbers_of_one_run_are_compared() -> None:
    later = [row("dlrmc", 5.0, run="run-2"), row("stacked", 30.0, run="run-2")]
    (result,) = collect([*CELL_A, *later])
    assert result.time_us("dlrmc", "wall_us") == 5
    assert result.ratio("stacked", "wall_us") == 6
    assert result.ratio("inductor", "wall_us") == 4  # against the 10 us of its own run
    assert result.best_peer("wall_us") == ("inductor", 4)
    (alone,) = collect([row("eager", 7.0, run="run-3"), *later])
    assert alone.ratio("eager", "wall_us") is None


def test_the_latest_row_of_a_variant_counts() -> None:
    (result,) = collect([*CELL_A, row("dlrmc", 8.0, run="run-2"), row("inductor", 16.0, run="run-2")])
    assert result.ratio("inductor", "wall_us") == 2


def test_a_peer_without_events_counts_for_the_wall_only() -> None:
    (result,) = collect([row("dlrmc", 10.0), row("xla", 15.0, event_us=None)])
    assert result.best_peer("wall_us") == ("xla", 1.5)
    assert result.best_peer("event_us") is None


def test_another_variant_of_dlrmc_can_be_compared_with() -> None:
    (result,) = collect([*CELL_A, row("dlrmc_call", 20.0)], against="dlrmc_call")
    assert result.ratio("inductor", "wall_us") == 2


def test_failures_are_listed_and_win_nothing() -> None:
    lines = summary_lines([*CELL_A, row("aot", None, status="RuntimeError: no")])
    assert "- aot at num_cat=2, batch=8: RuntimeError: no" in lines
    assert table(lines, "wall, microseconds")["2 8"][-1] == ""
    assert "cells that lack the time of a peer, and are not won: 1" in lines


def test_a_cell_is_not_won_against_a_peer_that_was_not_measured_in_it() -> None:
    fast, slow = (row("inductor", 40.0, batch=batch) for batch in (8, 16))
    cells = [row("dlrmc", 10.0), fast, row("dlrmc", 10.0, batch=16), slow]
    lines = summary_lines([*cells, row("stacked", 30.0)])
    assert any("1 of 2 cells by wall, 1 of 2 cells by event, 1 by both" in line for line in lines)


def test_sizes_that_differ_are_columns() -> None:
    lines = summary_lines([*CELL_A, row("dlrmc", 9.0, dim=64)])
    assert any(line.startswith("| num_cat | batch | dim |") for line in lines)
    # What tells one model from another is said by its name.
    models = summary_lines([row(model="kaggle", dense=13, batch=128), row(model="mlperf", dim=128)])
    assert any(line.startswith("| model  | num_cat | batch | dlrmc |") for line in models)
    programs = summary_lines([row("dlrmc", 9.0, model="scorer", **NO_SIZES)])
    assert any(line.startswith("| model ") for line in programs)


def test_cells_stand_in_order_of_their_sizes() -> None:
    order = [result.key[3] for result in collect([row(batch=size) for size in (128, 8, 64)])]
    assert order == [8, 64, 128]


def test_machines_head_the_summary() -> None:
    first = summary_lines([*CELL_A, row(gpu="OtherGPU")])[:2]
    assert first[0].startswith("TestGPU, driver 1.2, torch 2.11.0, cupy 14.2.0, dlrmc 0.1.0")
    assert first[1].startswith("OtherGPU")


def test_errors_and_compile_times_are_the_largest() -> None:
    lines = summary_lines([row(max_abs_error=1e-7), row(batch=16, max_abs_error=3e-6, compile_s=9.0)])
    assert any(line.startswith("| dlrmc ") and "3e-06" in line and "9.00" in line for line in lines)


def test_no_rows() -> None:
    assert summary_lines([]) == ["no rows"]


def test_geometric_mean() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4)
    assert geometric_mean([]) is None
