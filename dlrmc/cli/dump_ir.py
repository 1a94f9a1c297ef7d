"""`dlrmc dump-ir`: the IR of a model before, between and after the passes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from dlrmc.cli.sources import STANDARD, read_program, write_text
from dlrmc.cli.stages import FINAL, IMPORT, Snapshot, find_stage, initial_program, pipeline, trace


class Format(StrEnum):
    """How a graph is written."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    SVG = "svg"


def dump_ir(
    model: Annotated[str, typer.Argument(help="A .pt2 archive or IR text; - reads standard input.")],
    stage: Annotated[str, typer.Option(help="import, the name of a pass, or final.")] = FINAL,
    every: Annotated[bool, typer.Option("--all", help="Every stage, one after another.")] = False,
    form: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.TEXT,
    sources: Annotated[bool, typer.Option(help="With text: the model's source line behind each op.")] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file to write; - is standard output.")
    ] = STANDARD,
) -> None:
    """Print the IR of a model at a stage of the compiler."""
    if every and stage != FINAL:
        raise typer.BadParameter("give --stage or --all, not both")
    if every and form is Format.SVG:
        raise typer.BadParameter("an SVG file holds one graph: give --stage, or another --format")
    stages = trace(initial_program(read_program(model)).graph, pipeline())
    shown = stages if every else (find_stage(stages, stage),)
    write_text(output, render(shown, form, sources=sources, headings=every))


def render(stages: Sequence[Snapshot], form: Format, *, sources: bool = False, headings: bool = False) -> str:
    """The stages in one of the formats, ending in a newline.

    Args:
        stages: what to write, one at least.
        form: the format; SVG takes the last stage only.
        sources: with text, whether each op is followed by the model's source line.
        headings: with text, whether a comment names each stage; one that changed nothing is only named.
    """
    from dlrmc.cli.ir_dot import graph_svg, stages_dot
    from dlrmc.cli.ir_json import stages_json

    named = [(stage.name, stage.graph) for stage in stages]
    match form:
        case Format.JSON:
            return stages_json(named)
        case Format.DOT:
            return stages_dot(named)
        case Format.SVG:
            return graph_svg(stages[-1].graph, stages[-1].name)
        case Format.TEXT:
            return "".join(_text(stage, sources, headings) for stage in stages)


def _text(stage: Snapshot, sources: bool, heading: bool) -> str:
    from dlrmc.ir.printer import print_graph

    text = print_graph(stage.graph, sources=sources)
    if not heading:
        return text
    shown = stage.changes or stage.name == IMPORT
    return f"// {stage.summary}\n" + (text if shown else "")
