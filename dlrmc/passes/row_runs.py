"""How much one row program holds: runs of ops that fit a block's memory and a kernel's pointers.

What fits is measured by what lives at one time, as the layout of a tile lets values share memory: from the op
that computes a value up to its last reader. Scores between the products of attention take none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.strided import VIEW_OPS, under_views
from dlrmc.passes.attention import Attention, find_all, inner_values
from dlrmc.passes.form_kernels import POINTERS_MAX

# What one row of the values that live at one time may take, so that a tile of some rows fits into a block's
# shared memory.
LARGEST_ROW_BYTES = 64 * 1024
# Ops whose stages read operand tiles.
COPYING_OPS = ("linear", "bmm", "pairwise_dot")


@dataclass
class LiveBytes:
    """The bytes of one row of what lives while a run of ops grows, in topological order.

    Args:
        graph: that the ops are of.
        batch: rows of the program.
        unstored: values that take no memory.
        live: of the values computed so far, readers that are to come.
        bytes: of these values.
        peak_bytes: the most that lived at one time.
    """

    graph: Graph
    batch: int
    unstored: frozenset[Node]
    live: dict[Node, int] = field(default_factory=dict[Node, int])
    bytes: int = 0
    peak_bytes: int = 0

    def peak_with(self, node: Node) -> int:
        """The peak if the node was the next op."""
        return max(self.peak_bytes, self.bytes + self._size_bytes(node) + self._copied_bytes(node))

    def add(self, node: Node) -> None:
        """Take the next op."""
        self.peak_bytes = self.peak_with(node)
        readers = self.graph.use_count(node)
        root = under_views(node)
        if root is not node and root in self.live:
            self.live[root] += readers
        elif root is node:
            self.live[node] = readers
            self.bytes += self._size_bytes(node)
        for operand in node.inputs:
            self._read(under_views(operand))

    def _copied_bytes(self, node: Node) -> int:
        """What a product reads from outside of the run, of which it has a copy."""
        if not node.is_op(*COPYING_OPS) or node in self.unstored:
            return 0
        outside = (operand for operand in node.inputs if under_views(operand) not in self.live)
        return sum(
            operand.type.size_bytes // self.batch
            for operand in outside
            if not under_views(operand).is_op("weight", "const", "derive")
        )

    def _read(self, root: Node) -> None:
        if root not in self.live:
            return
        self.live[root] -= 1
        if self.live[root] <= 0:
            self.bytes -= self._size_bytes(root)
            del self.live[root]

    def _size_bytes(self, node: Node) -> int:
        is_stored = not node.is_op(*VIEW_OPS) and node not in self.unstored
        return node.type.size_bytes // self.batch if is_stored else 0


def peak_row_bytes(graph: Graph, nodes: Sequence[Node], batch: int) -> int:
    """The most bytes of one row that live at one time while the nodes are computed in their order."""
    lives = LiveBytes(graph, batch, inner_values(find_all(graph, nodes)))
    for node in nodes:
        lives.add(node)
    return lives.peak_bytes


@dataclass
class _Run:
    """A run that grows: what it reads from outside, and what outside may read of it."""

    graph: Graph
    outputs: frozenset[Node]
    lives: LiveBytes
    nodes: dict[Node, None] = field(default_factory=dict[Node, None])
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
        self.lives.add(node)
        self.results[node] = len(self.graph.users(node)) + (node in self.outputs)

    @property
    def pointers(self) -> int:
        """Operands, results, and the record of faults."""
        return len(self.operands) + len(self.results) + 1


def runs_with_room(graph: Graph, nodes: Sequence[Node], batch: int) -> Iterator[list[Node]]:
    """The nodes in runs, each with room for one row of what lives in it and with few enough pointers.

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
        rest = nodes[begin:]
        matches = find_all(graph, rest)
        run = rest[: _end_of_run(graph, rest, LiveBytes(graph, batch, inner_values(matches)))]
        if _splits_attention(matches, run):
            # Scores that another program reads are stored.
            run = rest[: _end_of_run(graph, rest, LiveBytes(graph, batch, frozenset()))]
        yield list(run)
        begin += len(run)


def _splits_attention(matches: Sequence[Attention], run: Sequence[Node]) -> bool:
    inside = frozenset(run)
    return any(match.product not in inside and not inside.isdisjoint(match.inner) for match in matches)


def _end_of_run(graph: Graph, nodes: Sequence[Node], lives: LiveBytes) -> int:
    run = _Run(graph, frozenset(graph.outputs), lives)
    open_values: list[int] = []
    for position, node in enumerate(nodes):
        if run.nodes and lives.peak_with(node) > LARGEST_ROW_BYTES:
            return position
        run.add(node)
        if len(run.nodes) > 1 and run.pointers > POINTERS_MAX:
            half = len(open_values) // 2
            return half + 1 + _last_least(open_values[half:])
        open_values.append(len(run.results))
    return len(nodes)


def _last_least(numbers: Sequence[int]) -> int:
    """The last position of the least number."""
    return max(range(len(numbers)), key=lambda position: (-numbers[position], position))
