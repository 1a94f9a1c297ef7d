"""Attention in a graph: a product of matrices whose weights are made of another product's results.

    scores = bmm(q, k); weights = softmax(f(scores)) or f(scores); bmm(weights, v)

with elementwise `f`: scales, masks, positions. The stage of a row program computes all of it without storing
a score (attention.cuh), so that what lies between the products takes no memory of a tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Elementwise, one
from dlrmc.ir.strided import resolve_strided, under_views, views_on
from dlrmc.ir.subgraph import INLINE_CONST_ELEMENTS, outline
from dlrmc.ir.types import DType

IMPL = "attention"
# Columns of a query, of which threads keep a share in registers.
WIDEST = 256


@dataclass(frozen=True)
class Attention:
    """One match.

    Args:
        product: the second product, [entries, M, E].
        scores: the first product, [entries, M, N].
        weighed: what the softmax is taken of, or the weights themselves where there is none.
        is_normalised: whether there is a softmax.
        zero_masked: whether rows all of whose scores are -inf have weights of zero instead of NaN.
        inner: all nodes between the products, the first one included; nothing else reads them.
        scaled: the queries times a number, of which the stage reads the queries and multiplies the products;
            None where the queries are not scaled.
    """

    product: Node
    scores: Node
    weighed: Node
    is_normalised: bool
    zero_masked: bool
    inner: tuple[Node, ...]
    scaled: Node | None

    @property
    def operands(self) -> tuple[Node, Node, Node]:
        """q and k of the scores, and v of the product, as these ops read them."""
        q = one(self.scores.operands[0]) if self.scaled is None else _factors(self.scaled)[0]
        return q, one(self.scores.operands[1]), one(self.product.operands[1])

    @property
    def scale(self) -> float:
        """What the products are multiplied by."""
        return 1.0 if self.scaled is None else float(_factors(self.scaled)[1].value.reshape(()))


@dataclass(frozen=True)
class _Softmax:
    """A softmax over the last dimension, with its guard for rows that are masked as a whole."""

    of: Node
    inner: tuple[Node, ...]
    zero_masked: bool


def form_attention(graph: Graph) -> int:
    """Make every match a `kernel attention`, with the views on its operands; the number of them."""
    formed = 0
    for node in graph.nodes:
        found = find_attention(graph, node) if node in graph else None
        if found is not None:
            _form(graph, found)
            formed += 1
    return formed


def find_all(graph: Graph, nodes: Sequence[Node]) -> list[Attention]:
    """The matches that lie within the nodes as a whole."""
    inside = frozenset(nodes)
    found = (find_attention(graph, node) for node in nodes)
    return [match for match in found if match is not None and inside.issuperset(match.inner)]


def inner_values(matches: Sequence[Attention]) -> frozenset[Node]:
    """All values between the products of matches: no memory holds them in a row program."""
    return frozenset(node for match in matches for node in match.inner)


def find_attention(graph: Graph, product: Node) -> Attention | None:
    """The match whose second product is the node, if it is one."""
    if not _is_product(product) or product.attributes.bool("trans_a"):
        return None
    weights = one(product.operands[0])
    views = _private_views(graph, weights)
    if views is None:
        return None
    root = views[-1].inputs[0] if views else weights
    softmax = _softmax(graph, root)
    weighed = root if softmax is None else softmax.of
    path = _path_to_scores(graph, weighed, is_read_twice=softmax is not None and softmax.zero_masked)
    if path is None or not _fits(path[-1], product):
        return None
    between = () if softmax is None else softmax.inner
    inner = tuple(dict.fromkeys((*views, *between, *path)))
    is_normalised = softmax is not None
    zero_masked = softmax is not None and softmax.zero_masked
    scaled = _scaled(path[-1], product)
    if scaled is not None and _is_read_by_one(graph, scaled):
        inner = (*inner, scaled)
    return Attention(product, path[-1], weighed, is_normalised, zero_masked, inner, scaled)


def split_entries(node: Node) -> Node:
    """A matrix operand with its entries as rows and heads where a view has folded them, else itself."""
    if not node.is_op("view") or node.type.rank != 3:
        return node
    under = node.inputs[0]
    is_split = under.type.rank == 4 and under.shape[2:] == node.shape[1:]
    return under if is_split and under.shape[0] * under.shape[1] == node.shape[0] else node


def _form(graph: Graph, found: Attention) -> None:
    root = _unfolded_root(graph, found.product)
    region = {root: None, found.product: None, **dict.fromkeys(found.inner)}
    if found.scaled is not None:
        region[found.scaled] = None
    for operand in found.operands:
        if resolve_strided(split_entries(operand)) is not None:
            region.update(dict.fromkeys(views_on(operand)))
    for node in found.inner:
        if not node.is_op("bmm") and node is not found.scaled:
            region.update((view, None) for operand in node.inputs for view in views_on(operand))
    body, operands = outline(graph, list(region), [root], INLINE_CONST_ELEMENTS)
    in_order = [node for node in graph.nodes if node in region]
    kernel = graph.add("kernel", (operands,), {"impl": IMPL}, name=root.name, body=body, place=root)
    graph.replace(root, kernel)
    for node in reversed(in_order):
        if node in graph and not graph.use_count(node):
            graph.erase(node)


def _unfolded_root(graph: Graph, product: Node) -> Node:
    """The product, or the view that alone reads it and shows rows and heads apart."""
    users = graph.users(product)
    if graph.use_count(product) != 1 or not users or not users[0].is_op("view"):
        return product
    view = users[0]
    is_unfolded = view.type.rank == 4 and view.shape[2:] == product.shape[1:]
    return view if is_unfolded else product


def _is_product(node: Node) -> bool:
    return node.is_op("bmm") and node.type.dtype is DType.F32 and not node.attributes.bool("trans_a")


def _scaled(scores: Node, product: Node) -> Node | None:
    """The queries where they are another value times a number, and are no keys or values, too."""
    q = one(scores.operands[0])
    others = (one(scores.operands[1]), one(product.operands[1]))
    if not q.is_op("mul") or any(under_views(other) is q for other in others):
        return None
    value, number = _factors(q)
    is_number = number.is_op("const") and number.type.numel == 1
    return q if is_number and value.shape == q.shape else None


def _factors(scaled: Node) -> tuple[Node, Node]:
    """The operands of a product of a value and a number, the number second."""
    first, second = (one(operand) for operand in scaled.operands)
    return (second, first) if first.is_op("const") else (first, second)


def _fits(scores: Node, product: Node) -> bool:
    depth = one(scores.operands[0]).shape[2]
    is_shaped = scores.shape == one(product.operands[0]).shape and scores.type.numel > 0
    return is_shaped and 0 < depth <= WIDEST and 0 < product.shape[2] <= WIDEST


def _is_read_by_one(graph: Graph, node: Node) -> bool:
    return graph.use_count(node) == 1 and not graph.returns(node)


def _private_views(graph: Graph, value: Node) -> list[Node] | None:
    """The views from a value down that keep its matrices; None where something else reads one of them."""
    views: list[Node] = []
    while value.is_op("view") and value.shape[-2:] == value.inputs[0].shape[-2:]:
        if not _is_read_by_one(graph, value):
            return None
        views.append(value)
        value = value.inputs[0]
    return views


def _softmax(graph: Graph, root: Node) -> _Softmax | None:
    if _is_softmax(graph, root):
        return _Softmax(root.inputs[0], (root,), zero_masked=False)
    if not root.is_op("where") or not _is_read_by_one(graph, root):
        return None
    condition, zero, softmax = (one(operand) for operand in root.operands)
    if not condition.is_op("eq") or not _is_filled(zero, 0.0) or not _is_softmax(graph, softmax):
        return None
    largest, limit = (one(operand) for operand in condition.operands)
    of = softmax.inputs[0]
    is_guard = largest.is_op("amax") and largest.inputs[0] is of and _is_filled(limit, -np.inf)
    # A condition without the last dimension would be that of other rows.
    is_of_rows = condition.type.rank == of.type.rank
    if not is_guard or not is_of_rows or largest.attributes.ints("dims") != (of.type.rank - 1,):
        return None
    inner = (root, condition, largest, softmax)
    is_private = all(_is_read_by_one(graph, node) for node in inner)
    return _Softmax(of, inner, zero_masked=True) if is_private else None


def _is_softmax(graph: Graph, node: Node) -> bool:
    is_last = node.is_op("softmax") and node.attributes.int("dim") == node.type.rank - 1
    return is_last and _is_read_by_one(graph, node)


def _is_filled(node: Node, value: float) -> bool:
    return node.is_op("const") and node.type.numel == 1 and float(node.value.reshape(())) == value


def _path_to_scores(graph: Graph, top: Node, *, is_read_twice: bool) -> list[Node] | None:
    """The nodes from a value down to the product that it is made of, element by element.

    `is_read_twice`: of the value itself, by a softmax and its guard.
    """
    is_private = _is_read_by_one(graph, top) or (is_read_twice and graph.use_count(top) == 2)
    if not is_private:
        return None
    if _is_product(top):
        return [top]
    keeps_matrices = top.is_op("view") and top.shape[-2:] == top.inputs[0].shape[-2:]
    if not keeps_matrices and not (isinstance(top.op, Elementwise) and top.type.dtype is DType.F32):
        return None
    for operand in top.inputs:
        if operand.type.numel == top.type.numel and (keeps_matrices or operand.shape == top.shape):
            path = _path_to_scores(graph, operand, is_read_twice=False)
            if path is not None:
                return [top, *path]
    return None
