from __future__ import annotations

import json

import numpy as np

from dlrmc.cli.ir_json import graph_value, stages_json
from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph

TEXT = """\
graph @small {
  input %x : f32[2,3]
  input %unused : i64[4]
  weight %w : f32[5,3] = "top.0.weight"
  const %c : f32[2] = [inf,-1.5]
  %relu = kernel linear<>(%x, %w) {
    %relu = linear(%x, %w) {act=relu} : f32[2,5]
    yield %relu
  } : f32[2,5]
  return %relu, %c
}
"""


def small() -> Graph:
    return parse_graph(TEXT.replace("<>", ""))


def test_the_document_names_its_schema_and_every_stage() -> None:
    document = json.loads(stages_json([("import", small()), ("final", small())]))
    assert (document["schema"], document["version"]) == ("dlrmc-ir", 1)
    assert [stage["stage"] for stage in document["stages"]] == ["import", "final"]


def test_nodes_carry_operands_attributes_types_and_bodies() -> None:
    value = graph_value(small())
    assert value["name"] == "small"
    assert value["inputs"] == ["x", "unused"]
    assert value["outputs"] == ["relu", "c"]
    nodes = {node["name"]: node for node in value["nodes"]}
    assert nodes["x"] == {"name": "x", "op": "input", "type": {"dtype": "f32", "shape": [2, 3]}}
    assert nodes["w"]["target"] == "top.0.weight"
    assert nodes["relu"]["op"] == "kernel"
    assert nodes["relu"]["attributes"]["impl"] == "linear"
    inner = {node["name"]: node for node in nodes["relu"]["body"]["nodes"]}["relu"]
    assert inner["operands"] == {"x": ["x"], "w": "w", "bias": None}
    assert inner["attributes"]["act"] == "relu"
    assert inner["attributes"]["alpha"] == 1.0


def test_constants_keep_their_shape_and_infinities_are_texts() -> None:
    graph = Graph("consts")
    graph.const("flags", np.array([[True], [False]]))
    graph.const("scalar", np.array(float("nan"), dtype=np.float32))
    graph.const("half", np.array([1.5], dtype=np.float16))
    values = {node["name"]: node["value"] for node in graph_value(graph)["nodes"]}
    assert values == {"flags": [[True], [False]], "scalar": "nan", "half": [1.5]}
    nodes = {node["name"]: node for node in graph_value(small())["nodes"]}
    assert nodes["c"]["value"] == ["inf", -1.5]
