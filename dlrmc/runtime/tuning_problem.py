"""One kernel of a plan as a program of its own, with drawn inputs: what the tuner measures.

Weights, constants and derived values reach the kernel as in the whole plan. What other kernels compute is
drawn, too, and becomes an input: as a weight, it would not count as rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlrmc.ir.bag_tables import BAG_OPS, bags_of
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import many_optional, map_operands, one
from dlrmc.ir.types import TensorType, TupleType
from dlrmc.schedule.plan import Launch

Array = np.ndarray[Any, Any]
_PICKS_BY_DIM = ("index_select", "gather")
# For integers that pick no row: small, so that sums of them stay exact in f32.
_PLAIN_LIMIT = 8


@dataclass(frozen=True)
class TuningProblem:
    """A kernel alone.

    Args:
        graph: of this one kernel; weights, constants and derived values are those of the program.
        inputs: values of the graph's inputs, in order.
    """

    graph: Graph
    inputs: tuple[Array, ...]

    @property
    def kernel(self) -> Node:
        """The kernel."""
        return next(node for node in self.graph.nodes if node.is_op("kernel"))


def make_problem(launch: Launch, seed: int = 0) -> TuningProblem:
    """The kernel of a launch alone, with inputs drawn by a generator of its own.

    Ids are valid for every table that they pick rows of, offsets are in order and within their ids.

    Args:
        launch: of the whole program.
        seed: of the generator; no global generator is read or changed.
    """
    kernel, graph = launch.kernel, Graph("tuning")
    generator = np.random.default_rng(seed)
    twins: dict[Node, Node] = {}
    inputs: list[Array] = []
    for operand, inner, buffer in zip(kernel.inputs, kernel.body.inputs, launch.operands, strict=True):
        if operand in twins:
            continue
        if buffer.kind == "resident":
            _copy_resident(operand, graph, twins)
            continue
        inputs.append(_draw(kernel.body, inner, generator))
        twins[operand] = graph.input(operand.name, operand.type)
    operands = map_operands(kernel.operands, lambda node: twins[node])
    alone = graph.add("kernel", operands, kernel.attributes, name=kernel.name, body=kernel.body)
    graph.set_outputs(_results(graph, alone))
    return TuningProblem(graph, tuple(inputs))


def _copy_resident(node: Node, graph: Graph, twins: dict[Node, Node]) -> None:
    if node in twins:
        return
    if node.is_op("weight"):
        twins[node] = graph.weight(node.name, node.type, node.target)
    elif node.is_op("const"):
        twins[node] = graph.const(node.name, node.value, node.type)
    else:
        for operand in node.inputs:
            _copy_resident(operand, graph, twins)
        operands = map_operands(node.operands, lambda n: twins[n])
        twins[node] = graph.add(node.op, operands, node.attributes, name=node.name, body=node.body)


def _results(graph: Graph, kernel: Node) -> list[Node]:
    if not isinstance(kernel.result_type, TupleType):
        return [kernel]
    count = len(kernel.result_type.items)
    return [graph.add("item", (kernel,), {"index": index}) for index in range(count)]


# -- drawn values --------------------------------------------------------------------------------------------


def _draw(body: Graph, node: Node, generator: np.random.Generator) -> Array:
    kind = node.type
    offsets = next(_offsets_of(body, node), None)
    if offsets is not None:
        return offsets.astype(kind.dtype.numpy)
    if not np.issubdtype(kind.dtype.numpy, np.integer):
        return _draw_plain(kind, generator)
    limit = min(_limits(body, node), default=_PLAIN_LIMIT)
    return generator.integers(0, max(limit, 1), size=kind.shape).astype(kind.dtype.numpy)


def _draw_plain(kind: TensorType, generator: np.random.Generator) -> Array:
    """Booleans, or reals in [-1, 1)."""
    if kind.dtype.numpy == np.bool_:
        return generator.integers(0, 2, size=kind.shape).astype(np.bool_)
    return np.asarray(generator.random(kind.shape) * 2 - 1).astype(kind.dtype.numpy)


def _offsets_of(body: Graph, node: Node) -> Iterator[Array]:
    """Offsets of bags of equal length, for each op that reads the node as offsets."""
    for user in body.users(node):
        for bags in bags_of(user) if user.is_op(*BAG_OPS) else ():
            if bags.offsets is node:
                yield _even_offsets(node, bags.ids, bags.options.include_last_offset)


def _even_offsets(node: Node, ids: Node, is_last_included: bool) -> Array:
    entries = node.shape[0]
    bags = max(entries - 1 if is_last_included else entries, 1)
    return np.arange(entries, dtype=np.int64) * ids.type.numel // bags


def _limits(body: Graph, node: Node) -> Iterator[int]:
    """For every use of the node as ids, also behind integer ops, the number of rows that they pick from."""
    for user in body.users(node):
        picked = list(_picked_rows(user, node))
        yield from picked
        is_integer = not isinstance(user.result_type, TupleType) and np.issubdtype(
            user.type.dtype.numpy, np.integer
        )
        if not picked and is_integer:
            yield from _limits(body, user)


def _picked_rows(user: Node, ids: Node) -> Iterator[int]:
    if user.is_op("embedding") and user.operands[1] is ids:
        yield one(user.operands[0]).shape[0]
    elif user.is_op(*BAG_OPS):
        yield from (bags.table.shape[0] for bags in bags_of(user) if bags.ids is ids)
    elif user.is_op(*_PICKS_BY_DIM) and user.operands[1] is ids:
        yield one(user.operands[0]).shape[user.attributes.int("dim")]
    elif user.is_op("index"):
        shape = one(user.operands[0]).shape
        yield from (shape[at] for at, index in enumerate(many_optional(user.operands[1])) if index is ids)
