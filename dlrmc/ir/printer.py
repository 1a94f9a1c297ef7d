"""IR as text: one op a line, no alignment, defaults left out, read back exactly by `dlrmc.ir.parser`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from dlrmc.ir.attributes import Attribute
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Arity, Array, Operand
from dlrmc.ir.types import DType

INDENT = "  "


def print_graph(graph: Graph, *, sources: bool = False) -> str:
    """The whole graph, ending in a newline.

    Args:
        graph: the graph.
        sources: whether each op is followed by a comment with the user's source line.
    """
    lines = [f"graph @{graph.name} {{"]
    lines.extend(_body_lines(graph, INDENT, sources, "return"))
    lines.append("}")
    return "\n".join(lines) + "\n"


def print_node(node: Node) -> str:
    """One node as it stands in the text of its graph, without indentation or a final newline."""
    return "\n".join(_node_lines(node, "", False))


def _body_lines(graph: Graph, indent: str, sources: bool, last: str) -> Iterator[str]:
    if last == "return":
        for node in graph.inputs:
            yield f"{indent}input %{node.name} : {node.type}"
    for node in graph.nodes:
        if not node.is_op("input"):
            yield from _node_lines(node, indent, sources)
    outputs = ", ".join(f"%{node.name}" for node in graph.outputs)
    yield f"{indent}{last} {outputs}".rstrip()


def _node_lines(node: Node, indent: str, sources: bool) -> Iterator[str]:
    comment = f"  // {node.source}" if sources and node.source else ""
    if node.is_op("input"):
        yield f"{indent}input %{node.name} : {node.type}"
    elif node.is_op("weight"):
        yield f"{indent}weight %{node.name} : {node.type} = {json.dumps(node.target)}"
    elif node.is_op("const"):
        yield f"{indent}const %{node.name} : {node.type} = {format_array(node.value)}"
    elif node.has_body:
        yield f"{indent}%{node.name} = {_head(node)}({_arguments(node)}) {{{comment}"
        yield from _body_lines(node.body, indent + INDENT, sources, "yield")
        yield f"{indent}}} : {node.result_type}"
    else:
        yield (
            f"{indent}%{node.name} = {node.op.name}({_operands(node)}){_attributes(node)} : "
            f"{node.result_type}{comment}"
        )


def _head(node: Node) -> str:
    """`kernel linear<threads=256>` or `derive`."""
    if not node.is_op("kernel"):
        return node.op.name
    schedule = [text for text in _shown_attributes(node) if not text.startswith("impl=")]
    return f"kernel {node.attributes.str('impl')}" + (f"<{', '.join(schedule)}>" if schedule else "")


def _arguments(node: Node) -> str:
    return ", ".join(
        f"%{outer.name}" if inner.name == outer.name else f"%{inner.name}=%{outer.name}"
        for inner, outer in node.outer.items()
    )


def _operands(node: Node) -> str:
    pairs = [*zip(node.op.operands, node.operands, strict=True)]
    while pairs and pairs[-1][0].arity is Arity.OPTIONAL and pairs[-1][1] is None:
        pairs.pop()
    return ", ".join(text for spec, operand in pairs for text in _operand(spec.arity, operand))


def _operand(arity: Arity, operand: Operand[Node]) -> list[str]:
    if not isinstance(operand, tuple):
        return [_value(operand)]
    items = [_value(item) for item in operand]
    if arity is Arity.REST:
        return items
    if arity is Arity.PARTS and len(items) == 1:
        return items
    return [f"[{', '.join(items)}]"]


def _value(node: Node | None) -> str:
    return "_" if node is None else f"%{node.name}"


def _attributes(node: Node) -> str:
    shown = _shown_attributes(node)
    return f" {{{', '.join(shown)}}}" if shown else ""


def _shown_attributes(node: Node) -> list[str]:
    defaults = {spec.name: spec.default for spec in node.op.attributes}
    return [
        f"{name}={format_attribute(value)}"
        for name, value in node.attributes.items()
        if value != defaults[name]
    ]


def format_attribute(value: Attribute) -> str:
    """An attribute's value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{','.join(format_attribute(item) for item in value)}]"
    return repr(value) if isinstance(value, float) else str(value)


def format_array(array: Array) -> str:
    """A constant's elements in row-major order; a scalar without brackets."""
    if array.ndim == 0:
        return format_scalar(array[()])
    if array.dtype.kind in "iu":
        # Pair tables have tens of thousands of elements.
        return f"[{','.join(map(str, array.reshape(-1).tolist()))}]"
    return f"[{','.join(format_scalar(item) for item in array.reshape(-1))}]"


def format_scalar(item: Any) -> str:
    """The shortest text that reads back as the same element."""
    dtype = DType.of_numpy(item.dtype)
    if dtype is DType.BOOL:
        return "true" if item else "false"
    if dtype.is_integer:
        return str(int(item))
    return _format_bf16(item) if dtype is DType.BF16 else str(item)


def _format_bf16(item: Any) -> str:
    """The fewest digits that tell the number from its neighbours; ml_dtypes prints more or fewer."""
    wide = float(item)
    for digits in range(1, 9):
        candidate = float(f"{wide:.{digits}g}")
        if float(np.array(candidate).astype(DType.BF16.numpy)) == wide:
            return repr(candidate)
    return repr(wide)
