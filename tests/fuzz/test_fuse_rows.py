"""fuse-rows on random graphs: the same meaning, no cycle, and row programs that are row-local."""

from __future__ import annotations

from hypothesis import event, given, settings

from dlrmc.ir.graph import Graph
from dlrmc.ir.rows import MIXED
from dlrmc.ir.verify import verify
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.passes.fuse_rows import fuse_rows
from dlrmc.passes.row_tags import tag_rows
from tests.fuzz.graphs import graphs
from tests.passes.feeds import assert_same_meaning


@settings(max_examples=200, deadline=None)
@given(graphs(max_steps=14))
def test_row_programs_mean_what_the_graph_meant(graph: Graph):
    before = graph.copy()
    fuse_rows(graph)
    verify(graph)
    programs = [node for node in graph.nodes if node.is_op("kernel")]
    event(f"{len(programs)} row programs")
    assert_same_meaning(before, graph, seeds=(0,))
    for program in programs:
        assert program.attributes.str("impl") == "row_program"
        uniform = frozenset(
            inner
            for inner, outer in zip(program.body.inputs, program.inputs, strict=True)
            if outer.is_op("weight", "const", "derive")
        )
        tags = tag_rows(program.body, program.attributes.int("batch"), uniform)
        assert all(tags[node] is not MIXED for node in program.body.nodes if not node.is_op("input"))
    form_kernels(graph)
    verify(graph)
    assert_same_meaning(before, graph, seeds=(0,))
