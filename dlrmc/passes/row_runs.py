"""How much one row program holds: runs of ops that fit a block's memory and a kernel's pointers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.strided import VIEW_OPS
from dlrmc.passes.form_kernels import POINTERS_MAX

# What one row of all intermediates may take, so that a tile of some rows fits into a block's shared memory.
LARGEST_ROW_BYTES = 64 * 1024


def row_bytes(node: Node, batch: int) -> int:
    """Bytes of one row of what the node computes."""
    return 0 if node.is_op(*VIEW_OPS) else node.type.size_bytes // batch


@dataclass
class _Run:
    """A run that grows: what it reads from outside, and what outside may read of it."""

    graph: Graph
    outputs: frozenset[Node]
    batch: int
    nodes: dict[Node, None] = field(default_factory=dict[Node, None])
    bytes: int = 0
    operands: set[Node] = field(default_factory=set[Node])
    # Values with the number of their readers outside.
    results: dict[Node, int] = field(default_factory=dict[Node, int])

    def add(self, node: Node) -> None:
        """Take the node in."""
        for operand in dict.fromkeys(node.inputs):
            if operand not in self.nodes:
                self.operands.add(operand)
                continue
            self.results[operand] -= 1
            if not self.results[operand]:
                del self.results[operand]
        self.nodes[node] = None
        self.bytes += row_bytes(node, self.batch)
        self.results[node] = len(self.graph.users(node)) + (node in self.outputs)

    @property
    def pointers(self) -> int:
        """Operands, results, and the record of faults."""
        return len(self.operands) + len(self.results) + 1


def runs_with_room(graph: Graph, nodes: Sequence[Node], batch: int) -> Iterator[list[Node]]:
    """The nodes in runs, each with room for one row of all that it computes and with few enough pointers.

    They stand in topological order, so that no path leaves a run and comes back. A run that reads too much
    ends where the fewest values are still to be read, in its second half. A single node that reads too much
    is a run, too.

    Args:
        graph: that the nodes are of.
        nodes: of one region, in topological order.
        batch: rows of the program.
    """
    begin = 0
    while begin < len(nodes):
        end = _end_of_run(graph, nodes, begin, batch)
        yield list(nodes[begin:end])
        begin = end


def _end_of_run(graph: Graph, nodes: Sequence[Node], begin: int, batch: int) -> int:
    run = _Run(graph, frozenset(graph.outputs), batch)
    open_values: list[int] = []
    for position in range(begin, len(nodes)):
        node = nodes[position]
        if run.nodes and run.bytes + row_bytes(node, batch) > LARGEST_ROW_BYTES:
            return position
        run.add(node)
        if len(run.nodes) > 1 and run.pointers > POINTERS_MAX:
            half = len(open_values) // 2
            return begin + half + 1 + _last_least(open_values[half:])
        open_values.append(len(run.results))
    return len(nodes)


def _last_least(numbers: Sequence[int]) -> int:
    """The last position of the least number."""
    return max(range(len(numbers)), key=lambda position: (-numbers[position], position))
