"""Random graphs of the ops that the passes rewrite, drawn by hypothesis so that a failure shrinks.

All floats are f64, so that a pass that only reorders sums stays within 1e-9 and one that is wrong does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from dlrmc.errors import TypeRuleError
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.ops.interaction import PAIRS, pair_indices
from dlrmc.ir.types import DType, TensorType

Draw = Callable[[st.SearchStrategy], object]
_ELEMENTS_MAX = 400


class GraphDrawer:
    """Grows one graph op by op."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.graph = Graph("fuzz")
        self.batch = self.number(1, 3)
        for name, width in (("x", 2), ("y", 4)):
            self.graph.input(name, TensorType(DType.F64, (self.batch, width)))
        self.table_count = 0

    def number(self, low: int, high: int) -> int:
        if low > high:
            raise ValueError("nothing to choose from")
        return int(self.draw(st.integers(low, high)))  # type: ignore[call-overload]

    def choice(self, items: list) -> object:
        return items[self.number(0, len(items) - 1)]

    def value(self, rank: int | None = None) -> Node:
        """A float value drawn so far, of that rank if there is one; half of the time the latest."""
        floats = [node for node in self.graph.nodes if node.type.dtype is DType.F64]
        fitting = [node for node in floats if rank is None or node.type.rank == rank] or floats
        made = [node for node in fitting if not node.is_op("input", "weight", "const")]
        if made and self.number(0, 1):
            return max(made, key=lambda node: node.number)
        return self.choice(fitting)  # type: ignore[return-value]

    def weight(self, *shape: int) -> Node:
        name = f"w{len(self.graph)}"
        return self.graph.weight(name, TensorType(DType.F64, shape), name)

    def ids(self, *shape: int) -> Node:
        dtype = self.choice([DType.I64, DType.I32])
        return self.graph.input(f"ids{len(self.graph)}", TensorType(dtype, shape))  # type: ignore[arg-type]

    def table(self) -> Node:
        tables = [node for node in self.graph.nodes if node.is_op("weight") and node.name.startswith("table")]
        if tables and self.number(0, 1):
            return self.choice(tables)  # type: ignore[return-value]
        name = f"table{len(tables)}"
        return self.graph.weight(name, TensorType(DType.F64, (self.number(3, 6), 2)), name)


def _unary(d: GraphDrawer) -> Node:
    op = d.choice(["relu", "sigmoid", "tanh", "neg", "abs", "silu", "gelu", "leaky_relu"])
    return d.graph.add(str(op), (d.value(),))


def _binary(d: GraphDrawer) -> Node:
    op = d.choice(["add", "sub", "mul", "maximum"])
    return d.graph.add(str(op), (d.value(), d.value()))


def _by_const(d: GraphDrawer) -> Node:
    op = d.choice(["add", "mul", "div", "maximum", "pow"])
    number = {"pow": 2.0, "maximum": 0.0}.get(str(op), float(d.number(1, 3)))
    return d.graph.add(str(op), (d.value(), d.graph.const("c", np.array(number))))


def _by_weight(d: GraphDrawer) -> Node:
    x = d.value()
    op = str(d.choice(["add", "mul"]))
    return d.graph.add(op, (x, d.weight(x.shape[-1] if x.type.rank else 1)))


def _linear(d: GraphDrawer) -> Node:
    x = d.value()
    width = d.number(1, 3)
    bias = d.weight(width) if d.number(0, 1) else None
    return d.graph.add("linear", ((x,), d.weight(width, x.shape[-1] if x.type.rank else 1), bias))


def _addmm(d: GraphDrawer) -> Node:
    x = d.value(2)
    width = d.number(1, 3)
    transposed = d.graph.add("permute", (d.weight(width, x.shape[-1]),), {"perm": (1, 0)})
    if d.number(0, 1):
        return d.graph.add("mm", (x, transposed))
    bias = d.weight(width) if d.number(0, 1) else d.weight(x.shape[0], 1)
    return d.graph.add("addmm", (bias, x, transposed), {"alpha": float(d.number(1, 2)), "beta": 0.5})


def _view(d: GraphDrawer) -> Node:
    x = d.value()
    count = x.type.numel
    splits = [size for size in range(1, count + 1) if count % size == 0]
    first = int(d.choice(splits))  # type: ignore[call-overload]
    shapes = [(first, count // first), (count,), (*x.shape, 1), (x.shape[0] if x.type.rank else 1, 1, -1)]
    shape = d.choice(shapes)
    known = -math.prod(shape)  # type: ignore[arg-type]
    whole = tuple(count // known if size == -1 else size for size in shape)  # type: ignore[union-attr]
    return d.graph.add("view", (x,), {"shape": whole})


def _permute(d: GraphDrawer) -> Node:
    x = d.value()
    return d.graph.add("permute", (x,), {"perm": tuple(d.draw(st.permutations(range(x.type.rank))))})  # type: ignore[arg-type]


def _expand(d: GraphDrawer) -> Node:
    x = d.value()
    wide = tuple(d.number(1, 2) if size == 1 else size for size in x.shape)
    return d.graph.add("expand", (x,), {"shape": (*((2,) if d.number(0, 1) else ()), *wide)})


def _slice(d: GraphDrawer) -> Node:
    x = d.value()
    dim = d.number(0, x.type.rank - 1)
    start = d.number(0, x.shape[dim] - 1)
    stop = d.number(start + 1, x.shape[dim])
    return d.graph.add("slice", (x,), {"dim": dim, "start": start, "stop": stop, "step": d.number(1, 2)})


def _select(d: GraphDrawer) -> Node:
    x = d.value()
    dim = d.number(0, x.type.rank - 1)
    return d.graph.add("select", (x,), {"dim": dim, "index": d.number(0, x.shape[dim] - 1)})


def _cat(d: GraphDrawer) -> Node:
    x = d.value()
    dim = d.number(0, x.type.rank - 1)
    others = [
        node
        for node in d.graph.nodes
        if node.type.dtype is DType.F64
        and (node.shape[:dim], node.shape[dim + 1 :]) == (x.shape[:dim], x.shape[dim + 1 :])
        and node.type.rank == x.type.rank
    ]
    parts = [d.choice(others) for _ in range(d.number(1, 3))]
    return d.graph.add("cat", ((x, *parts),), {"dim": dim})  # type: ignore[arg-type]


def _reduction(d: GraphDrawer) -> Node:
    x = d.value()
    dim = d.number(0, x.type.rank - 1)
    op = str(d.choice(["sum", "mean", "amax"]))
    return d.graph.add(op, (x,), {"dims": (dim,), "keepdim": bool(d.number(0, 1))})


def _gram(d: GraphDrawer) -> Node:
    x = d.value(3)
    transposed = d.graph.add("permute", (x,), {"perm": (0, 2, 1)})
    gram = d.graph.add("bmm", (x, transposed) if d.number(0, 1) else (transposed, x))
    order = str(d.choice(list(PAIRS)))
    i, j = pair_indices(order, gram.shape[1])
    if d.number(0, 3) == 0:
        i, j = i[::-1], j[::-1]
    return d.graph.add("index", (gram, (None, d.graph.const("i", i), d.graph.const("j", j))))


def _pairwise(d: GraphDrawer) -> Node:
    return d.graph.add("pairwise_dot", ((d.value(), d.value()),), {"pairs": str(d.choice(list(PAIRS)))})


def _bag(d: GraphDrawer) -> Node:
    table, length = d.table(), d.number(1, 3)
    mode = str(d.choice(["sum", "mean", "max"]))
    padding = d.number(-1, 2)
    if d.number(0, 2) == 0:
        return d.graph.add(
            "embedding_bag",
            (table, d.ids(d.batch, length), None, None),
            {"mode": mode, "padding_idx": padding},
        )
    ids = d.ids(d.batch * length)
    if d.number(0, 1):
        offsets = d.graph.const("offsets", np.arange(0, d.batch * length, length))
    else:
        offsets = d.ids(d.batch)
    return d.graph.add("embedding_bag", (table, ids, offsets, None), {"mode": mode, "padding_idx": padding})


def _pooled(d: GraphDrawer) -> Node:
    table, length = d.table(), d.number(1, 3)
    rows = d.graph.add("index_select", (table, d.ids(d.batch * length)), {"dim": 0})
    viewed = d.graph.add("view", (rows,), {"shape": (d.batch, length, table.shape[1])})
    return d.graph.add(str(d.choice(["sum", "mean"])), (viewed,), {"dims": (1,)})


def _lookup(d: GraphDrawer) -> Node:
    x = d.value()
    dim = d.number(0, x.type.rank - 1)
    low = d.number(0, x.shape[dim] - 1)
    index = d.graph.const("k", np.arange(low, x.shape[dim], d.number(1, 2)))
    if d.number(0, 1):
        return d.graph.add("index_select", (x, index), {"dim": dim})
    return d.graph.add("index", (x, (*[None] * dim, index)))


MAKERS: tuple[Callable[[GraphDrawer], Node], ...] = (
    _unary,
    _binary,
    _by_const,
    _by_weight,
    _linear,
    _addmm,
    _view,
    _permute,
    _expand,
    _slice,
    _select,
    _cat,
    _reduction,
    _gram,
    _pairwise,
    _bag,
    _pooled,
    _lookup,
)


@st.composite
def graphs(draw: Draw) -> Graph:
    """A graph of up to 14 ops, the last values of which are returned."""
    drawer = GraphDrawer(draw)
    for maker in draw(st.lists(st.sampled_from(MAKERS), min_size=1, max_size=14)):  # type: ignore[attr-defined]
        try:
            made = maker(drawer)
        except (TypeRuleError, ValueError):
            # The drawn operands do not fit the op, or have no dimension to choose.
            continue
        if made.type.numel > _ELEMENTS_MAX:
            drawer.graph.erase(made)
    floats = [node for node in drawer.graph.nodes if node.type.dtype is DType.F64]
    outputs = [node for node in floats if not drawer.graph.use_count(node)]
    drawer.graph.set_outputs([*outputs, drawer.choice(floats)])  # type: ignore[list-item]
    return drawer.graph
