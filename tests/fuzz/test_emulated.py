"""Random graphs through the whole pipeline and the emulator: the emitted CUDA computes what they mean.

The other fuzzers evaluate what passes make of a graph; this one runs it, in tiles of one row and of several.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from dlrmc.codegen.emit import emit_module
from dlrmc.emulator.launch import run_launches
from dlrmc.emulator.module import EmulatedModule
from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.printer import print_graph
from dlrmc.ir.reference import evaluate
from dlrmc.passes import driver
from dlrmc.passes.pipeline import PIPELINE
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.limits import DeviceLimits
from tests.codegen.rows.row_cases import SMALL_DEVICE
from tests.fuzz.graphs import MAX_ELEMENTS, ROUNDING_STEPS, STEPS, Draft, graphs
from tests.golden.plan_runner import Emitted, run_plan
from tests.passes.feeds import random_feeds

# Sums in another order differ in the last bits, and what is made of the values grows that.
TOLERANCE = 1e-4


def _smooth(draft: Draft) -> None:
    """No rounding, which turns a last bit into a whole number."""
    draft.add(draft.choose(("relu", "sigmoid", "tanh", "neg", "abs", "silu", "gelu")), (draft.pick(),))


def _shown(draft: Draft, name: str, node: Node) -> Node:
    """A part of [batch, lists, ids], or its lists in another order, as [bags, ids]."""
    _, lists, length = node.shape
    how = draft.choose(("all", "list", "later", "column", "turned"))
    if how == "list":
        node = draft.graph.add("select", (node,), {"dim": 1, "index": draft.size(0, lists - 1)})
    elif how == "later":
        start = draft.size(0, lists - 1)
        node = draft.graph.add("slice", (node,), {"dim": 1, "start": start, "stop": lists, "step": 1})
    elif how == "column":
        node = draft.graph.add("select", (node,), {"dim": 2, "index": draft.size(0, length - 1)})
    elif how == "turned":
        node = draft.graph.add("permute", (node,), {"perm": (0, 2, 1)})
    shape = (node.type.numel // node.shape[-1], node.shape[-1])
    return draft.graph.add("view", (node,), {"shape": shape}, name=f"{name}_shown")


def _bags_of_shown_ids(draft: Draft) -> None:
    ids = _shown(draft, "ids", draft.ids("ids", draft.batch, draft.size(), draft.size()))
    table = draft.weight(5, draft.size())
    mode = draft.choose(("sum", "mean", "max"))
    bags = draft.graph.add("embedding_bag", (table, ids, None, None), {"mode": mode})
    width = bags.type.numel // draft.batch
    draft.keep(draft.graph.add("view", (bags,), {"shape": (draft.batch, width)}))


def _attention(draft: Draft) -> None:
    """The rows of a value weighted by how they agree with another's."""
    keys = draft.pick(lambda node: node.type.rank == 3)
    if keys is None:
        return
    queries = draft.pick(
        lambda n: n.type.rank == 3 and (n.shape[0], n.shape[2]) == (keys.shape[0], keys.shape[2])
    )
    scores = draft.graph.add("bmm", (queries, keys), {"trans_b": True})
    weights = draft.graph.add("softmax", (scores,), {"dim": 2})
    draft.add("bmm", (weights, keys))


def _wide(draft: Draft) -> None:
    """Many values beside each other."""
    parts = [node for node in draft.values if node.type.rank == 2 and node.shape[0] == draft.batch]
    if len(parts) > 1 and sum(part.type.numel for part in parts) <= MAX_ELEMENTS:
        draft.add("cat", (tuple(parts),), dim=1)


_STEPS: tuple[Callable[[Draft], None], ...] = (
    *(step for step in STEPS if step not in ROUNDING_STEPS),
    *(_smooth, _bags_of_shown_ids, _attention, _wide) * 2,
)


@settings(
    max_examples=25,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    graph=graphs(max_steps=14, steps=_STEPS, batches=st.sampled_from((1, 2, 3, 11))),
    limits=st.sampled_from((DeviceLimits(), SMALL_DEVICE)),
)
def test_the_emitted_source_computes_what_the_graph_means(own_cache, graph: Graph, limits: DeviceLimits):
    _return_all(graph)
    note(print_graph(graph))
    inputs, weights = random_feeds(graph, seed=len(graph))
    wanted = evaluate(graph, inputs, weights)
    driver.run(graph, PIPELINE)
    note(print_graph(graph))
    plan = build_plan(graph)
    emitted = Emitted(graph, plan, emit_module(plan, limits, graph))
    event(f"{len(emitted.module.kernels)} kernels")
    module = EmulatedModule.build(emitted.module.text, emitted.entry_points, cache_dir=own_cache)
    ran = run_plan(emitted, inputs, weights, partial(_launch, module))
    assert ran.faults == 0
    for found, right in zip(ran.outputs, wanted, strict=True):
        scale = float(np.max(np.abs(right), initial=1.0))
        np.testing.assert_allclose(found, right, rtol=TOLERANCE, atol=TOLERANCE * scale)


def _return_all(graph: Graph) -> None:
    """Return every float that nothing reads, so that no op was drawn in vain."""
    unread = [node for node in graph.nodes if not node.is_op(*LEAVES) and not graph.use_count(node)]
    graph.set_outputs(dict.fromkeys([*unread, *graph.outputs]))


def _launch(module: EmulatedModule, launch, buffers) -> None:
    run_launches(module, [launch], buffers)
