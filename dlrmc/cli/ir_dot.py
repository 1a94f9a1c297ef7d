"""A graph as Graphviz DOT text, and that as SVG: kernels are boxes around their bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dlrmc.errors import OptionError
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.printer import format_attribute

_HEADER = (
    "  rankdir=TB;",
    '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="monospace", fontsize=10];',
    '  edge [fontname="monospace", fontsize=8];',
)
_LEAF_COLOURS = (("input", "lightblue"), ("weight", "lightyellow"), ("const", "lightgrey"))


def stages_dot(stages: Sequence[tuple[str, Graph]]) -> str:
    """One DOT graph a stage, one after another."""
    return "".join(graph_dot(graph, stage) for stage, graph in stages)


def graph_dot(graph: Graph, stage: str) -> str:
    """One graph as DOT text, ending in a newline; node ids are the path of names, so they are stable."""
    lines = [f"digraph {_quote(f'{graph.name} {stage}')} {{", *_HEADER]
    lines.extend(_graph_lines(graph, "", "  "))
    lines.extend(_output_lines(graph))
    lines.append("}")
    return "\n".join(lines) + "\n"


def graph_svg(graph: Graph, stage: str) -> str:
    """One graph as SVG text, laid out by Graphviz.

    Raises:
        OptionError: where pygraphviz, whose wheel brings Graphviz, is not installed.
    """
    try:
        import pygraphviz  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise OptionError(
            "format svg",
            found="pygraphviz is not installed",
            expected="pygraphviz 2, whose wheel brings the layout engine",
            hint='pip install "pygraphviz>=2" (or write --format dot and lay it out elsewhere)',
        ) from error
    drawing: Any = pygraphviz.AGraph(string=graph_dot(graph, stage)).draw(format="svg", prog="dot")
    return bytes(drawing).decode("utf-8")


def _graph_lines(graph: Graph, prefix: str, indent: str) -> Iterator[str]:
    for node in graph.nodes:
        if node.has_body:
            yield from _kernel_lines(node, prefix, indent)
        else:
            yield f"{indent}{_quote(prefix + node.name)} [{_style(node)}];"
            yield from _edge_lines(node, prefix, indent)


def _kernel_lines(node: Node, prefix: str, indent: str) -> Iterator[str]:
    """A cluster; its body's inputs stand for the operands, which lead into them."""
    inside = f"{prefix}{node.name}/"
    label = f"{node.op.name} {_attribute_text(node)}".strip()
    yield f"{indent}subgraph {_quote(f'cluster_{inside}')} {{"
    yield f"{indent}  label={_quote(label)}; style=filled; fillcolor=whitesmoke;"
    yield from _graph_lines(node.body, inside, indent + "  ")
    # The kernel's own value, which its users read.
    yield f"{indent}  {_quote(prefix + node.name)} [{_style(node)}];"
    for output in node.body.outputs:
        yield f"{indent}  {_quote(inside + output.name)} -> {_quote(prefix + node.name)};"
    yield f"{indent}}}"
    for inner, outer in node.outer.items():
        yield f"{indent}{_edge(prefix + outer.name, inside + inner.name, str(outer.result_type))}"


def _edge_lines(node: Node, prefix: str, indent: str) -> Iterator[str]:
    for operand in node.inputs:
        yield f"{indent}{_edge(prefix + operand.name, prefix + node.name, str(operand.result_type))}"


def _output_lines(graph: Graph) -> Iterator[str]:
    for place, output in enumerate(graph.outputs):
        ending = f"return/{place}"
        yield f"  {_quote(ending)} [label={_quote(f'return {place}')}, shape=plaintext];"
        yield f"  {_edge(output.name, ending, str(output.result_type))}"


def _edge(start: str, end: str, label: str) -> str:
    return f"{_quote(start)} -> {_quote(end)} [label={_quote(label)}];"


def _style(node: Node) -> str:
    colours = [colour for op, colour in _LEAF_COLOURS if node.is_op(op)]
    heading = "yield" if node.has_body else node.op.name
    details = "" if node.has_body else _attribute_text(node)
    lines = [f"%{node.name}", f"{heading} {details}".strip(), str(node.result_type)]
    label = "\\n".join(_escape(line) for line in lines)
    return f'label="{label}"' + (f", fillcolor={colours[0]}" if colours else "")


def _attribute_text(node: Node) -> str:
    if node.is_op("weight"):
        return node.target
    defaults = {spec.name: spec.default for spec in node.op.attributes}
    changed = [(name, value) for name, value in node.attributes.items() if value != defaults[name]]
    return ", ".join(f"{name}={format_attribute(value)}" for name, value in changed)


def _quote(text: str) -> str:
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
