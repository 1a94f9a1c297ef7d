"""`dlrmc opt`: run passes on IR text."""

from __future__ import annotations

from typing import Annotated

import typer

from dlrmc.cli.sources import STANDARD, read_program, write_text
from dlrmc.cli.stages import find_passes, initial_program, list_passes, pipeline, trace


def opt(
    file: Annotated[
        str, typer.Argument(help="IR text or a .pt2 archive; - reads standard input.")
    ] = STANDARD,
    passes: Annotated[
        str,
        typer.Option(help="Names of passes separated by commas, run in this order; default: all of them."),
    ] = "",
    print_changed: Annotated[
        bool,
        typer.Option("--print-changed", help="The IR after each pass that changed it, not only the last."),
    ] = False,
    names: Annotated[bool, typer.Option("--list-passes", help="Name all passes and end.")] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file to write; - is standard output.")
    ] = STANDARD,
) -> None:
    """Run passes on IR text and print what comes out."""
    if names:
        write_text(STANDARD, list_passes())
        return
    wanted = [name.strip() for name in passes.split(",") if name.strip()]
    chosen = find_passes(wanted) if wanted else pipeline()
    stages = trace(initial_program(read_program(file)).graph, chosen)
    from dlrmc.ir.printer import print_graph

    if not print_changed:
        write_text(output, print_graph(stages[-1].graph))
        return
    changed = [stage for stage in stages[1:] if stage.changes]
    texts = [f"// {stage.summary}\n{print_graph(stage.graph)}" for stage in changed]
    write_text(output, "".join(texts) or "// no pass changed anything\n")
