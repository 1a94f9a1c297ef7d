from __future__ import annotations

from pathlib import Path

import pytest

from dlrmc.bench.bars_plot import corners, draw_bars
from dlrmc.bench.cell_results import collect
from dlrmc.bench.plots import draw_heat_maps, draw_lines
from dlrmc.bench.records import Row
from dlrmc.errors import InputError, OptionError
from tests.bench.fake_bench import row


def rows() -> list[Row]:
    """Two by two cells; at 32 tables and batch 64 the peer wins."""
    found = []
    for num_cat in (2, 32):
        for batch in (8, 64):
            peer = 5.0 if (num_cat, batch) == (32, 64) else 40.0
            found += [
                row("dlrmc", 10.0, num_cat=num_cat, batch=batch),
                row("inductor", peer, num_cat=num_cat, batch=batch),
            ]
    return found


def texts(path: Path) -> str:
    """The comments in which matplotlib's SVG repeats each text."""
    lines = path.read_text().splitlines()
    return "\n".join(line.strip() for line in lines if line.strip().startswith("<!--"))


def test_a_heat_map_shows_each_ratio(tmp_path: Path) -> None:
    draw_heat_maps(rows(), tmp_path / "x.svg")
    found = texts(tmp_path / "x.svg")
    assert found.count("<!-- 4.0x -->") == 3
    assert found.count("<!-- 0.5x -->") == 1
    assert found.count("<!-- 3.0x -->") == 3  # by events: 45 over 15
    assert "<!-- wall -->" in found


def test_other_sizes_get_maps_of_their_own(tmp_path: Path) -> None:
    wide = [row(variant, time, dim=64) for variant, time in (("dlrmc", 10.0), ("eager", 20.0))]
    draw_heat_maps([*rows(), *wide], tmp_path / "x.svg")
    assert "<!-- wall, dim 64 -->" in texts(tmp_path / "x.svg")


def test_the_same_rows_give_the_same_file(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        draw_heat_maps(rows(), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_png(tmp_path: Path) -> None:
    draw_heat_maps(rows(), tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_lines_against_a_size(tmp_path: Path) -> None:
    draw_lines(rows(), tmp_path / "x.svg", "batch")
    found = texts(tmp_path / "x.svg")
    assert "<!-- batch -->" in found
    assert "<!-- wall, num_cat 32 -->" in found
    assert found.count("<!-- inductor max-autotune + CUDA graph -->") == 1


def test_lines_against_layers_use_the_first_width(tmp_path: Path) -> None:
    sweep = [row("dlrmc", 10.0, top=top) for top in ("64-32-1", "512-256-1")]
    draw_lines(sweep, tmp_path / "x.svg", "top")
    assert "<!-- top -->" in texts(tmp_path / "x.svg")


def test_bars_of_all_cells_or_of_the_corners(tmp_path: Path) -> None:
    draw_bars(rows(), tmp_path / "x.svg")
    found = texts(tmp_path / "x.svg")
    for text in ("2 tables, batch 8", "32 tables, batch 64", "dlrmc, bound step", "40.0", "5.0"):
        assert f"<!-- {text} -->" in found
    many = [
        row(variant, 10.0, num_cat=num_cat, batch=batch)
        for variant in ("dlrmc", "eager")
        for num_cat in (2, 4, 8)
        for batch in (2, 16, 128)
    ]
    chosen = [(result.key[2], result.key[3]) for result in corners(collect(many))]
    assert chosen == [(2, 2), (2, 128), (8, 2), (8, 128)]
    draw_bars(many, tmp_path / "y.svg")
    assert "4 tables" not in texts(tmp_path / "y.svg")


def test_bars_name_models_and_precisions(tmp_path: Path) -> None:
    found = [row(variant, 9.0, model="mlperf", precision="tf32") for variant in ("dlrmc", "inductor")]
    draw_bars(found, tmp_path / "x.svg")
    assert "<!-- mlperf, batch 8, tf32 -->" in texts(tmp_path / "x.svg")


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="a name that ends in"):
        draw_heat_maps(rows(), tmp_path / "x.pdf")


def test_what_there_is_nothing_to_draw_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no cell with both dlrmc and a peer"):
        draw_heat_maps([row("dlrmc")], tmp_path / "x.svg")
    with pytest.raises(InputError, match="no cell with both dlrmc and a peer"):
        draw_bars([row("dlrmc")], tmp_path / "x.svg")
    with pytest.raises(InputError, match="no two cells that differ in dim alone"):
        draw_lines(rows(), tmp_path / "x.svg", "dim")
    with pytest.raises(OptionError, match="option --lines"):
        draw_lines(rows(), tmp_path / "x.svg", "width")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a file that can be written"):
        draw_heat_maps(rows(), tmp_path / "no" / "x.svg")


def test_a_missing_matplotlib_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r'pip install "matplotlib'):
        draw_heat_maps(rows(), tmp_path / "x.svg")
