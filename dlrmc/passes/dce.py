"""Dead code: values that no output reads."""

from __future__ import annotations

from dlrmc.ir.graph import Graph
from dlrmc.passes.pass_types import PassResult


def run(graph: Graph) -> PassResult:
    """Erase every value that no output needs; inputs keep their place in the signature."""
    erased = 0
    for node in reversed(graph.nodes):
        if not graph.use_count(node) and not node.is_op("input"):
            graph.erase(node)
            erased += 1
    return PassResult.of({"erased": erased})
