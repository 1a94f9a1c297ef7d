"""Connected ops that hold the batch but not in front, and what it brings to lay them out anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import networkx as nx

from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.op import Elementwise
from dlrmc.ir.strided import VIEW_OPS, under_views
from dlrmc.passes.batch_layout import Layout
from dlrmc.passes.form_kernels import ANCHORS, REREADING
from dlrmc.passes.row_stages import has_stage


@dataclass(frozen=True)
class Region:
    """Connected ops, none of which a row program can take as it is.

    Args:
        nodes: in topological order.
        gain: how many kernels fewer there are once the region is computed with the batch in front: its own,
            less the copies between the layouts, less a row program if none is beside it that can take it in.
    """

    nodes: tuple[Node, ...]
    gain: int


def find_regions(graph: Graph, layout: Layout) -> list[Region]:
    """All regions, in the order of their first nodes."""
    apart = [node for node in graph.nodes if _stands_apart(layout, node)]
    place = {node: number for number, node in enumerate(apart)}
    links: nx.Graph[Node] = nx.Graph()
    links.add_nodes_from(apart)
    links.add_edges_from((operand, node) for node in apart for operand in node.inputs if operand in place)
    regions = [sorted(region, key=lambda node: place[node]) for region in nx.connected_components(links)]
    return [Region(tuple(nodes), _gain(graph, layout, nodes)) for nodes in regions]


def _stands_apart(layout: Layout, node: Node) -> bool:
    return layout.differs(node) and not node.is_op(*LEAVES) and not layout.is_row_op(node)


def _gain(graph: Graph, layout: Layout, nodes: Sequence[Node]) -> int:
    """Kernels and copies there are as it is, less those there would be."""
    inside = set(nodes)
    outside = dict.fromkeys(operand for node in nodes for operand in node.inputs if operand not in inside)
    read = [node for node in nodes if is_read_outside(graph, node, inside)]
    turned = [node for node in read if node.is_op(*VIEW_OPS) and layout.is_leading(node)]
    made = sum(_has_kernel(graph, node, inside) for node in nodes) + len(turned)
    copied_in = sum(layout.differs(value) and not layout.is_leading(value) for value in outside)
    copied_out = sum(not layout.is_leading(node) for node in read)
    if copied_in and not any(map(computes, nodes)):
        return 0
    return made - copied_in - copied_out - (not _has_neighbour(graph, layout, read, outside))


def _has_neighbour(graph: Graph, layout: Layout, read: Sequence[Node], outside: Iterable[Node]) -> bool:
    """Whether an op beside the region is one of a row program."""
    makers = (under_views(value) for value in outside)
    readers = (user for node in read for user in graph.users(node))
    return any(layout.is_row_op(node) and computes(node) for node in (*makers, *readers))


def computes(node: Node) -> bool:
    """Whether a row program has a stage for the op that does more than show a value in another way."""
    return has_stage(node) and not node.is_op(*VIEW_OPS)


def is_read_outside(graph: Graph, node: Node, inside: set[Node]) -> bool:
    """Whether the value is returned, or something else than these nodes reads it."""
    is_output = graph.returns(node)
    return is_output or any(user not in inside for user in graph.users(node))


def _has_kernel(graph: Graph, node: Node, inside: set[Node]) -> bool:
    """Whether the op takes a kernel of its own where it is: an elementwise op joins its only reader."""
    if not computes(node) or not isinstance(node.op, Elementwise):
        return computes(node)
    readers = graph.users(node)
    while len(readers) == 1 and readers[0].is_op(*VIEW_OPS):
        readers = graph.users(readers[0])
    return len(readers) != 1 or readers[0] not in inside or readers[0].is_op(*ANCHORS, *REREADING)
