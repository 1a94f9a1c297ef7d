"""What a tag claims is tried: a change of one row moves only that row, and never what is uniform."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Array, many, one
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.reference import evaluate_all
from dlrmc.ir.rows import UNIFORM, Rows, RowTag
from dlrmc.passes.row_tags import tag_rows
from tests.fuzz.graphs import graphs
from tests.passes.feeds import random_feeds


def offsets_by_ids(graph: Graph) -> dict[Node, Node]:
    """The offsets of each tensor of jagged ids."""
    found: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.is_op("embedding_bag"):
            found[one(node.operands[1])] = one(node.operands[2])
        elif node.is_op("embedding_bag_group"):
            found.update(zip(many(node.operands[1]), many(node.operands[2]), strict=True))
    return found


def changed_row(graph: Graph, inputs: Mapping[str, Array], batch: int, row: int) -> dict[str, Array]:
    """The same inputs with other contents for one request.

    The row of a tensor is its part of the leading dimension; of jagged ids, those of the bag.
    """
    offsets = offsets_by_ids(graph)
    changed = dict(inputs)
    for node in graph.inputs:
        if node in offsets.values():
            continue
        if node in offsets:
            begins = [*inputs[offsets[node].name], node.type.numel]
            part = slice(int(begins[row]), int(begins[row + 1]))
        else:
            per_row = node.shape[0] // batch
            part = slice(row * per_row, (row + 1) * per_row)
        array = inputs[node.name].copy()
        array[part] = array[part] + 1 if node.type.dtype.is_float else np.maximum(array[part], 1) - 1
        changed[node.name] = array
    return changed


def assert_tag_holds(node: Node, tag: RowTag, batch: int, row: int, before: Array, after: Array) -> None:
    same = (before == after) | ((before != before) & (after != after))
    if tag is UNIFORM:
        assert same.all(), f"{node} is uniform and moved"
    elif isinstance(tag, Rows):
        assert node.shape[0] == batch * tag.per_row
        others = np.delete(same, slice(row * tag.per_row, (row + 1) * tag.per_row), axis=0)
        assert others.all(), f"{node} is tagged {tag} and another row than {row} moved"


@settings(max_examples=200, deadline=None)
@given(graphs(max_steps=12), st.integers(0, 2), st.integers(0, 1000))
def test_a_change_of_one_row_moves_that_row_only(graph: Graph, row: int, seed: int):
    batch = graph.inputs[0].shape[0]
    row %= batch
    tags = tag_rows(graph, batch)
    inputs, weights = random_feeds(graph, seed)
    before = evaluate_all(graph, inputs, weights)
    after = evaluate_all(graph, changed_row(graph, inputs, batch, row), weights)
    for node in graph.nodes:
        event(f"{node.op.name}: {type(tags[node]).__name__}")
        if node.name in before and node not in offsets_by_ids(graph):
            assert_tag_holds(node, tags[node], batch, row, before[node.name], after[node.name])


@pytest.mark.parametrize(
    ("op", "tag"),
    [("softmax(%x) {dim=0}", Rows(1)), ("permute(%x) {perm=[1,0]}", Rows(1)), ("relu(%x)", UNIFORM)],
)
def test_a_wrong_tag_is_seen(op: str, tag: RowTag):
    graph = parse_graph(f"graph @g {{ input %x : f32[2,2] %y = {op} : f32[2,2] return %y }}")
    inputs = {"x": np.array([[1, 2], [3, 4]], np.float32)}
    before, after = (evaluate_all(graph, each, {}) for each in (inputs, changed_row(graph, inputs, 2, 0)))
    with pytest.raises(AssertionError, match="moved"):
        assert_tag_holds(graph.find("y"), tag, 2, 0, before["y"], after["y"])
