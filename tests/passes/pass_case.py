"""What every test of a pass checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dlrmc.ir.graph import Graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.verify import verify
from dlrmc.passes import dce
from dlrmc.passes.pass_types import PassResult
from tests.passes.feeds import assert_same_meaning
from tests.passes.rule_case import graph_of

Run = Callable[[Graph], PassResult]


def check_pass(run: Run, before: str, after: str, counts: Mapping[str, int]) -> Graph:
    """The pass turns one body into the other, dead values left out, and a second run changes nothing.

    Returns:
        The graph after the pass and DCE.
    """
    old, graph = graph_of(before), graph_of(before)
    assert run(graph).counts == counts
    verify(graph, "the pass")
    text = print_graph(graph)
    assert run(graph).changes == 0
    assert print_graph(graph) == text
    dce.run(graph)
    assert print_graph(graph) == print_graph(graph_of(after))
    assert_same_meaning(old, graph)
    return graph


def check_unchanged(run: Run, body: str) -> None:
    """The pass leaves the graph as it is."""
    graph = graph_of(body)
    text = print_graph(graph)
    assert run(graph).changes == 0
    assert print_graph(graph) == text
