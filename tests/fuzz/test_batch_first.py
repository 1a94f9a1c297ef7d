"""batch-first on random graphs: the same meaning, nothing left to do, and placements that hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.reference import evaluate_all
from dlrmc.ir.verify import verify
from dlrmc.passes import batch_first
from dlrmc.passes.batch_axis import BatchAxis, find_spot
from dlrmc.passes.batch_front import Front
from dlrmc.passes.batch_rules import find_layout, find_rule
from tests.fuzz.graphs import STEPS, Draft, graphs
from tests.passes.feeds import assert_same_meaning, random_feeds


def _turn(draft: Draft) -> None:
    """Another dimension in front, so that what follows has the batch in a later one."""
    node = draft.pick(lambda node: node.type.rank > 1)
    if node is not None:
        dim = draft.size(1, node.type.rank - 1)
        rest = [other for other in range(node.type.rank) if other != dim]
        draft.add("permute", (node,), perm=(dim, *rest))


def _stack(draft: Draft) -> None:
    """Batch after batch in one dimension."""
    node = draft.pick(lambda node: node.type.rank > 1 and node.type.numel < 100)
    if node is not None:
        draft.add("cat", ((node, node),), dim=draft.size(0, node.type.rank - 1))


def _repeat(draft: Draft) -> None:
    """A weight once for each row."""
    width = draft.size()
    draft.add("expand", (draft.weight(width),), shape=(draft.batch, width))


def _along(draft: Draft) -> None:
    node = draft.pick(lambda node: node.type.rank > 1)
    if node is not None:
        draft.add(draft.choose(("cumsum", "cumprod")), (node,), dim=draft.size(0, node.type.rank - 1))


_STEPS: tuple[Callable[[Draft], None], ...] = (*STEPS, *(_turn, _stack, _along, _repeat) * 3)


@settings(max_examples=300, deadline=None)
@given(graphs(max_steps=14, steps=_STEPS))
def test_the_meaning_stays_and_a_second_run_changes_nothing(graph: Graph) -> None:
    before = graph.copy()
    event(f"{'moved' if batch_first.run(graph).changes else 'unchanged'}")
    verify(graph)
    assert_same_meaning(before, graph, seeds=(0,))
    assert batch_first.run(graph).changes == 0


@settings(max_examples=300, deadline=None)
@given(graphs(max_steps=12, steps=_STEPS), st.integers(2, 3))
def test_every_placed_value_is_rebuilt_with_its_elements_in_the_order_that_its_placement_says(
    graph: Graph, batch: int
) -> None:
    layout = find_layout(graph, batch)
    front = Front(graph, layout, _rebuild_of)
    fronts: dict[Node, Node] = {}
    for node in graph.nodes:
        if layout.is_placed(node) and not node.is_op(*LEAVES) and not layout.is_row_op(node):
            front.rebuild(node)
            fronts[node] = front.value(node)
    graph.set_outputs([*graph.outputs, *fronts.values()])
    inputs, weights = random_feeds(graph, seed=1)
    values = evaluate_all(graph, inputs, weights)
    for node, value in fronts.items():
        axis = layout.placement(node)
        assert isinstance(axis, BatchAxis)
        event(f"{node.op.name} {'same' if axis.is_same else 'rows'}")
        box = values[node.name].reshape(axis.before, batch, -1).swapaxes(0, 1)
        found = values[value.name].reshape(value.shape[0], *box.shape[1:])
        np.testing.assert_allclose(*np.broadcast_arrays(found, box), rtol=1e-5, atol=1e-5)


def _rebuild_of(node: Node) -> Callable[[Front, Node], Node] | None:
    rule = find_rule(node)
    return None if rule is None else rule.rebuild


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 40), st.integers(2, 4))
def test_a_dimension_holds_the_batch_iff_the_box_fits_into_it(
    shape: list[int], before: int, batch: int
) -> None:
    fitting: list[int] = []
    for dim, size in enumerate(shape):
        above = int(np.prod(shape[:dim]))
        if before % above == 0 and size % (before // above * batch) == 0:
            fitting.append(dim)
    spot = find_spot(tuple(shape), before, batch)
    assert ([] if spot is None else [spot.dim]) == fitting
    if spot is not None:
        assert spot.axis_in(tuple(shape), is_same=False) == BatchAxis(before)
        assert spot.outer * batch * spot.inner == shape[spot.dim]
