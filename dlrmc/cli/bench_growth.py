"""`dlrmc bench growth`: how time grows with each size."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlrmc.cli.bench_tasks import Run, measure_tasks
from dlrmc.cli.sources import STANDARD, write_text


def bench_growth(
    axes: Annotated[str, typer.Option(help="all, or of batch, num_cat, dim, bag, width.")] = "all",
    peers: Annotated[str, typer.Option(help="Names of variants, separated by commas.")] = "dlrmc,eager_graph",
    precision: Annotated[str, typer.Option(help="fp32 or tf32.")] = "fp32",
    tune: Annotated[str, typer.Option(help="dlrmc's search: off, fast or full.")] = "off",
    out: Annotated[Path, typer.Option(help="The CSV, written row by row.")] = Path("growth.csv"),
    plot: Annotated[Path | None, typer.Option(help="Draw the times, as .png or .svg.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the CSV and skip its complete cells.")
    ] = False,
    max_seconds: Annotated[
        float | None, typer.Option(help="Begin no cell that would end after so many seconds.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that compile at the same time.")] = 1,
    draw_only: Annotated[
        bool, typer.Option("--draw-only", help="Measure nothing: print and draw the CSV.")
    ] = False,
) -> None:
    """Measure one size after the other by powers of two, from 32 tables x 2048, and mark cliffs."""
    from dlrmc.bench.grid import check_precision
    from dlrmc.bench.growth import chosen_axes, growth_lines, growth_tasks
    from dlrmc.bench.records import read_csv
    from dlrmc.bench.variants import chosen_variants

    names = chosen_axes(axes)
    variants = chosen_variants(peers)
    check_precision(precision)
    notes: list[str] = []
    if draw_only:
        rows = [*read_csv(out)]
    else:
        tasks = growth_tasks(names, precision=precision, tune=tune)
        rows, notes = measure_tasks(tasks, variants, Run(out, resume, jobs, max_seconds))
    if plot is not None:
        from dlrmc.bench.growth_plot import draw_growth

        draw_growth(rows, plot, names, precision=precision)
    lines = [*growth_lines(rows, names, precision=precision), *notes]
    write_text(STANDARD, "".join(f"{line}\n" for line in lines))
