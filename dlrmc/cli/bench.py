"""`dlrmc bench`: a model beside its peers, sweeps over sizes, and what they say."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from dlrmc.cli.bench_growth import bench_growth
from dlrmc.cli.bench_tasks import Run, measure_tasks
from dlrmc.cli.sources import (
    STANDARD,
    example_inputs,
    load_exported,
    load_inputs,
    read_bytes,
    shown,
    write_text,
)
from dlrmc.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dlrmc.bench.records import Row

_MODEL_COMMAND = "model"
_PEERS_HELP = "all, none, or names separated by commas; dlrmc's own variants are always measured."


class _ModelByDefault(TyperGroup):
    """A group whose first argument is a model where it is no command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command that takes a model in front where no command is named."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            self._check_no_typo(args[0], ctx)
            args = [_MODEL_COMMAND, *args]
        return super().parse_args(ctx, args)

    def _check_no_typo(self, word: str, ctx: Any) -> None:
        near = difflib.get_close_matches(word, self.commands, n=1)
        if near and not Path(word).exists():
            ctx.fail(f"No such command or model {word!r}. Did you mean {near[0]!r}?")


def bench_model(
    model: Annotated[str, typer.Argument(help="A .pt2 archive; - reads standard input.")],
    inputs: Annotated[
        str | None,
        typer.Option(help="The arguments of the call, saved with torch.save; default those of the export."),
    ] = None,
    peers: Annotated[str, typer.Option(help=_PEERS_HELP)] = "all",
    precision: Annotated[str, typer.Option(help="fp32 or tf32, for dlrmc and for the peers.")] = "fp32",
    tune: Annotated[str, typer.Option(help="off, fast or full.")] = "off",
    out: Annotated[Path | None, typer.Option(help="Append rows to this CSV.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the rows as JSON.")] = None,
) -> None:
    """Measure a saved model beside its peers."""
    from dlrmc.bench.grid import check_precision
    from dlrmc.bench.machine import find_gpu
    from dlrmc.bench.records import CsvFile, write_json
    from dlrmc.bench.summary import summary_lines
    from dlrmc.bench.sweep import Bench, measure_program
    from dlrmc.bench.variants import chosen_variants
    from dlrmc.bench.work import CompileOptions, program_work
    from dlrmc.cli.bench_progress import shown_progress

    variants = chosen_variants(peers)
    check_precision(precision)
    device = find_gpu()
    exported = load_exported(read_bytes(model), shown(model))
    args, kwargs = load_inputs(inputs) if inputs is not None else example_inputs(exported, shown(model))
    work = program_work(exported, args, kwargs, device, CompileOptions(precision, tune))
    file = CsvFile(out, keep=True) if out is not None else None
    rows: list[Row] = []
    with shown_progress() as progress:
        name = "standard input" if model == STANDARD else Path(model).stem
        for row in measure_program(Bench.on_gpu(device), name, work, variants, progress):
            rows.append(row)
            if file is not None:
                file.append(row)
    if json is not None:
        write_json(json, rows)
    write_text(STANDARD, "".join(f"{line}\n" for line in summary_lines(rows)))


def bench_sweep(
    num_cat: Annotated[str | None, typer.Option(help="Numbers of tables, as 2,8,32.")] = None,
    batch: Annotated[str | None, typer.Option(help="Batch sizes.")] = None,
    rows: Annotated[str | None, typer.Option(help="Rows of each table.")] = None,
    dim: Annotated[str | None, typer.Option(help="Widths of a table's rows.")] = None,
    bag: Annotated[str | None, typer.Option(help="Ids a bag.")] = None,
    dense: Annotated[str | None, typer.Option(help="Dense features.")] = None,
    bottom: Annotated[str | None, typer.Option(help="The bottom MLP between dense and dim, as 64.")] = None,
    top: Annotated[str | None, typer.Option(help="The top MLP after the interaction, as 64,32,1.")] = None,
    preset: Annotated[
        str, typer.Option(help="Of seed, kaggle, terabyte and mlperf: the sizes that are not said.")
    ] = "seed",
    peers: Annotated[str, typer.Option(help=_PEERS_HELP)] = "all",
    precision: Annotated[str, typer.Option(help="fp32, tf32 or fp32,tf32.")] = "fp32",
    tune: Annotated[str, typer.Option(help="dlrmc's search: off, fast or full.")] = "off",
    out: Annotated[Path, typer.Option(help="The CSV, written row by row.")] = Path("results.csv"),
    json: Annotated[
        Path | None, typer.Option(help="All rows of the CSV as JSON, written at the end.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the CSV and skip its complete cells.")
    ] = False,
    max_seconds: Annotated[
        float | None, typer.Option(help="Begin no cell that would end after so many seconds.")
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=1, help="Processes that compile at the same time; they use the GPU one after the other."
        ),
    ] = 1,
    cold: Annotated[
        bool, typer.Option("--cold", help="An empty compile cache for each peer, for honest compile times.")
    ] = False,
) -> None:
    """Measure the plain DLRM over all combinations of sizes; docs/performance.md."""
    from dlrmc.bench.grid import make_tasks
    from dlrmc.bench.records import write_json
    from dlrmc.bench.summary import summary_lines
    from dlrmc.bench.variants import chosen_variants

    variants = chosen_variants(peers)
    sizes = {"num_cat": num_cat, "batch": batch, "rows": rows, "dim": dim, "bag": bag, "dense": dense}
    layers = {"bottom": bottom, "top": top}
    tasks = make_tasks(preset, {**sizes, **layers}, precisions=precision, tune=tune, cold=cold)
    if cold and jobs > 1:
        raise OptionError("option --cold", found=f"--jobs {jobs}", expected="one job: others would slow it")
    every, notes = measure_tasks(tasks, variants, Run(out, resume, jobs, max_seconds))
    if json is not None:
        write_json(json, every)
    lines = [*summary_lines(every), *notes]
    write_text(STANDARD, "".join(f"{line}\n" for line in lines))


def bench_summarize(
    results: Annotated[list[Path], typer.Argument(help="CSVs of `dlrmc bench sweep`, oldest first.")],
    against: Annotated[
        str, typer.Option(help="The variant of dlrmc's that peers are compared with.")
    ] = "dlrmc",
    plot: Annotated[
        Path | None, typer.Option(help="Draw a heat map of the best peer over dlrmc, as .png or .svg.")
    ] = None,
    lines: Annotated[
        str | None, typer.Option(help="Draw times against this size instead: batch, num_cat, dim, bag, ...")
    ] = None,
    bars: Annotated[
        bool, typer.Option("--bars", help="Draw wall times as bars instead, of the corners of a large sweep.")
    ] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The summary; - is standard output.")
    ] = STANDARD,
) -> None:
    """Print tables of times and ratios, and draw them."""
    from dlrmc.bench.records import read_csv
    from dlrmc.bench.summary import OWN_NAMES, summary_lines

    if against not in OWN_NAMES:
        raise OptionError("option --against", found=against, expected="one of " + ", ".join(OWN_NAMES))
    if lines is not None and bars:
        raise OptionError("option --bars", found="--lines, too", expected="one of them")
    rows: Sequence[Row] = [row for path in results for row in read_csv(path)]
    if plot is not None:
        from dlrmc.bench.bars_plot import draw_bars
        from dlrmc.bench.plots import draw_heat_maps, draw_lines

        if lines is not None:
            draw_lines(rows, plot, lines)
        elif bars:
            draw_bars(rows, plot, against)
        else:
            draw_heat_maps(rows, plot, against)
    write_text(output, "".join(f"{line}\n" for line in summary_lines(rows, against)))


def bench_app() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(cls=_ModelByDefault, no_args_is_help=True, help="Measure dlrmc beside its peers.")
    app.command(_MODEL_COMMAND)(bench_model)
    app.command("sweep")(bench_sweep)
    app.command("growth")(bench_growth)
    app.command("summarize")(bench_summarize)
    return app
