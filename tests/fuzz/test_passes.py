"""Every pass, and all in order, keep the meaning of random graphs and change nothing the second time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.reference import evaluate
from dlrmc.passes.driver import run
from dlrmc.passes.engine import apply_rules
from dlrmc.passes.peepholes import ALL_RULES
from dlrmc.passes.pipeline import PIPELINE
from tests.fuzz.random_graphs import graphs
from tests.passes.feeds import random_feeds

FAST = settings(
    max_examples=150,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def check(before: Graph, after: Graph) -> None:
    inputs, weights = random_feeds(before, seed=len(before))
    pairs = zip(evaluate(before, inputs, weights), evaluate(after, inputs, weights), strict=True)
    for wanted, found in pairs:
        assert found.shape == wanted.shape
        scale = float(np.max(np.abs(wanted), initial=1.0))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * scale)


@FAST
@given(graph=graphs())
def test_the_whole_pipeline_keeps_the_meaning_after_every_pass(graph: Graph) -> None:
    note(print_graph(graph))
    before = graph.copy()
    for each in PIPELINE:
        run(graph, (each,))
        note(f"after {each.name}\n{print_graph(graph)}")
        check(before, graph)
        text = print_graph(graph)
        assert run(graph, (each,))[0].changes == 0
        assert print_graph(graph) == text
        assert print_graph(parse_graph(text)) == text


@FAST
@given(graph=graphs())
def test_peepholes_are_right_after_every_firing(graph: Graph) -> None:
    note(print_graph(graph))
    before = graph.copy()
    apply_rules(graph, ALL_RULES, checked=True)
    note(print_graph(graph))
    check(before, graph)


def test_the_graphs_are_varied_enough_to_fire_most_rules() -> None:
    fired: set[str] = set()

    @settings(FAST, derandomize=True, database=None)
    @given(graph=graphs())
    def collect(graph: Graph) -> None:
        fired.update(apply_rules(graph, ALL_RULES).counts)

    collect()
    assert len(fired) >= 25, sorted(fired)


@pytest.mark.parametrize("each", PIPELINE[:-1], ids=lambda each: each.name)
def test_an_empty_graph_passes(each: object) -> None:
    graph = parse_graph("graph @empty {\n  return\n}\n")
    run(graph, (each,))  # type: ignore[arg-type]
    assert len(graph) == 0
