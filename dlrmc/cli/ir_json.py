"""A graph as JSON, for other programs; docs/cli.md has the schema, which only grows within a version."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from dlrmc.ir.attributes import Attribute
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Array, Operand
from dlrmc.ir.types import DType, TensorType, Type

SCHEMA_VERSION = 1


def stages_json(stages: Sequence[tuple[str, Graph]]) -> str:
    """The document: schema name, version, and each stage's graph, ending in a newline."""
    document = {
        "schema": "dlrmc-ir",
        "version": SCHEMA_VERSION,
        "stages": [{"stage": stage, "graph": graph_value(graph)} for stage, graph in stages],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def graph_value(graph: Graph) -> dict[str, Any]:
    """One graph as plain values: its name, its nodes in order of execution, and the names that it returns."""
    return {
        "name": graph.name,
        "inputs": [node.name for node in graph.inputs],
        "nodes": [_node(node) for node in graph.nodes],
        "outputs": [node.name for node in graph.outputs],
    }


def _node(node: Node) -> dict[str, Any]:
    value: dict[str, Any] = {"name": node.name, "op": node.op.name, "type": _type(node.result_type)}
    if node.operands:
        pairs = zip(node.op.operands, node.operands, strict=True)
        value["operands"] = {spec.name: _operand(operand) for spec, operand in pairs}
    if node.attributes:
        value["attributes"] = {name: _attribute(item) for name, item in node.attributes.items()}
    if node.is_op("weight"):
        value["target"] = node.target
    if node.is_op("const"):
        value["value"] = _array(node.value)
    if node.source:
        value["source"] = node.source
    if node.has_body:
        value["body"] = graph_value(node.body)
    return value


def _type(kept: Type) -> Any:
    if isinstance(kept, TensorType):
        return {"dtype": kept.dtype.value, "shape": list(kept.shape)}
    return [_type(item) for item in kept.items]


def _operand(operand: Operand[Node]) -> Any:
    if isinstance(operand, tuple):
        return [None if item is None else item.name for item in operand]
    return None if operand is None else operand.name


def _attribute(value: Attribute) -> Any:
    if isinstance(value, tuple):
        return [_attribute(item) for item in value]
    if isinstance(value, float):
        return _number(value)
    return value.value if isinstance(value, DType) else value


def _array(array: Array) -> Any:
    """Nested lists in the array's shape; a scalar alone."""
    return _map_numbers(array.tolist())


def _map_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_map_numbers(item) for item in value]
    # A bfloat16 array lists elements of its own scalar type.
    return value if isinstance(value, (bool, int)) else _number(float(value))


def _number(value: float) -> float | str:
    """JSON has no infinities and no NaN; they are the texts that Python's `float` reads."""
    return value if math.isfinite(value) else str(value)
