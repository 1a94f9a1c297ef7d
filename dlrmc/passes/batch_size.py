"""Which size of a program is its batch."""

from __future__ import annotations

from collections import Counter

from dlrmc.ir.graph import LEAVES, Graph
from dlrmc.passes.batch_regions import computes, find_regions
from dlrmc.passes.batch_rules import find_layout

# Sizes that are tried: a program of hundreds of jagged inputs has a size for each.
_CANDIDATES_MAX = 12


def guess_batch(graph: Graph) -> int:
    """The size to cut rows by: that for which most ops work on each row by itself, and then the largest.

    An op that has to be laid out anew for that counts by what that brings. 0 where nothing is computed. A
    batch of 1 is one that most inputs or values begin with: that every op works on one row by itself must not
    count for it.
    """
    made = Counter(
        node.shape[0]
        for node in graph.nodes
        if not node.is_op(*LEAVES, "derive", "kernel") and node.shape and node.shape[0]
    )
    if not made:
        return 0
    given = Counter(node.shape[0] for node in graph.inputs if node.type.rank > 1)
    if _most_frequent(given) == 1 or (_most_frequent(made) == 1 and given[1]):
        return 1
    sizes = made + Counter(size for node in graph.inputs for size in node.shape)
    tried = sorted((size for size in sizes if size > 1), key=lambda size: (-sizes[size], -size))
    return max(tried[:_CANDIDATES_MAX], key=lambda size: _score(graph, size), default=1)


def _most_frequent(sizes: Counter[int]) -> int:
    return max(sizes, key=lambda size: (sizes[size], size), default=0)


def _score(graph: Graph, batch: int) -> tuple[int, int]:
    layout = find_layout(graph, batch)
    as_they_are = sum(layout.is_row_op(node) and computes(node) for node in graph.nodes)
    return as_they_are + sum(max(region.gain, 0) for region in find_regions(graph, layout)), batch
