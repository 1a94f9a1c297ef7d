"""form-kernels and the plan on random graphs."""

from __future__ import annotations

from hypothesis import given, settings

from dlrmc.ir.graph import Graph
from dlrmc.ir.verify import verify
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.passes.stages import ops_allowed_after
from dlrmc.schedule.build import build_plan
from tests.fuzz.graphs import graphs
from tests.passes.feeds import assert_same_meaning


@settings(max_examples=150, deadline=None)
@given(graphs(max_steps=12))
def test_kernels_mean_what_the_graph_meant(graph: Graph):
    before = graph.copy()
    form_kernels(graph)
    verify(graph)
    assert {node.op.name for node in graph.nodes} <= set(ops_allowed_after("form-kernels") or ())
    assert_same_meaning(before, graph, seeds=(0,))
    plan = build_plan(graph)
    assert len(plan.launches) == sum(node.is_op("kernel") for node in graph.nodes)
