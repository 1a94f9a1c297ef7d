from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest

from dlrmc.cli.ir_dot import graph_dot, graph_svg, stages_dot
from dlrmc.errors import OptionError
from dlrmc.ir.parser import parse_graph

TEXT = """\
graph @small {
  input %x : f32[2,3]
  weight %w : f32[5,3] = "top.\\"0\\".weight"
  %relu = kernel linear(%x, %w) {
    %relu = linear(%x, %w) {act=relu} : f32[2,5]
    yield %relu
  } : f32[2,5]
  %neg = neg(%relu) : f32[2,5]
  return %neg, %x
}
"""


def test_dot_holds_every_node_edge_and_kernel() -> None:
    text = graph_dot(parse_graph(TEXT), "final")
    assert text.startswith('digraph "small final" {\n')
    assert text.endswith("}\n")
    assert '"x" [label="%x\\ninput\\nf32[2,3]", fillcolor=lightblue];' in text
    assert 'subgraph "cluster_relu/" {' in text
    assert '"relu/x" -> "relu/relu" [label="f32[2,3]"];' in text
    assert '"w" -> "relu/w" [label="f32[5,3]"];' in text
    assert '"relu" -> "neg" [label="f32[2,5]"];' in text
    assert '"x" -> "return/1" [label="f32[2,3]"];' in text
    assert 'top.\\"0\\".weight' in text


def test_several_stages_are_several_graphs() -> None:
    graph = parse_graph(TEXT)
    text = stages_dot([("import", graph), ("final", graph)])
    assert text.count("digraph ") == 2


def test_svg_is_laid_out_and_well_formed() -> None:
    root = ElementTree.fromstring(graph_svg(parse_graph(TEXT), "final"))
    assert root.tag.endswith("svg")
    titles = [item.text for item in root.iter() if item.tag.endswith("title")]
    assert "relu->neg" in titles
    assert "cluster_relu/" in titles


def test_svg_without_the_layout_engine_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(OptionError, match='to mend: pip install "pygraphviz>=2"'):
        graph_svg(parse_graph(TEXT), "final")
