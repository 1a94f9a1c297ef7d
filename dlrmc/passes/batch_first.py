"""batch-first: values that hold the batch in a later dimension are laid out with the batch in front.

Attention splits heads before it multiplies, recurrent and attention layers put time first, `cat` along the
batch stacks heads: all of these work on each request by itself, but a row program takes only values whose
rows stand one after the other. So where each value holds the batch is followed through every op
(`dlrmc.passes.batch_layout`), and connected ops that have it elsewhere are computed anew with the batch in
front. Their readers see the old layout through views.

What it costs: a copy where such a region reads an input that has the batch in a later dimension, and one
where a reader outside needs the old layout. A region is rewritten where that is fewer kernels than it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.passes.batch_front import Front, Rebuild
from dlrmc.passes.batch_layout import Layout
from dlrmc.passes.batch_regions import computes, find_regions, is_read_outside
from dlrmc.passes.batch_rules import find_layout, find_rule
from dlrmc.passes.batch_size import guess_batch
from dlrmc.passes.pass_types import PassResult


def run(graph: Graph) -> PassResult:
    """Rewrite every region worth it; the count is that of the ops computed with the batch in front."""
    batch = guess_batch(graph)
    if batch < 2:
        return PassResult.of({})
    layout = find_layout(graph, batch)
    moved = {node for region in find_regions(graph, layout) if region.gain > 0 for node in region.nodes}
    in_order = [node for node in graph.nodes if node in moved]
    _rewrite(graph, layout, in_order)
    return PassResult.of({"moved": sum(map(computes, in_order))})


def _rewrite(graph: Graph, layout: Layout, moved: Sequence[Node]) -> None:
    """Compute the nodes, which stand in topological order, with the batch in front."""
    front = Front(graph, layout, _rebuild_of)
    inside = set(moved)
    for node in [*_same_rows(graph, layout, moved), *moved]:
        front.rebuild(node)
    read = [node for node in moved if is_read_outside(graph, node, inside)]
    for node in read:
        graph.replace(node, front.restored(node))
    for node in reversed(moved):
        if node in graph and not graph.use_count(node):
            graph.erase(node)


def _rebuild_of(node: Node) -> Rebuild | None:
    rule = find_rule(node)
    return None if rule is None else rule.rebuild


def _same_rows(graph: Graph, layout: Layout, moved: Sequence[Node]) -> list[Node]:
    """The ops with equal rows that the nodes depend on, operands first."""
    needed = set(moved)
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(operand for operand in node.inputs if layout.is_same(operand))
    needed.difference_update(moved)
    return [node for node in graph.nodes if node in needed and not node.is_op(*LEAVES)]
