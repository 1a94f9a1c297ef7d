"""Random graphs of f32 values: small shapes, most ops, ids and offsets as inputs of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.types import DType, TensorType

MAX_ELEMENTS = 256
MAX_RANK = 4

_UNARY = ("relu", "sigmoid", "tanh", "neg", "abs", "floor", "silu", "gelu", "leaky_relu", "clamp")
_BINARY = ("add", "sub", "mul", "maximum", "minimum")
_REDUCTIONS = ("sum", "mean", "amax", "amin", "prod")


class Draft:
    """A graph under construction: the f32 values so far and the draws that extend it."""

    def __init__(self, draw: DrawFn, batch: int) -> None:
        self.draw = draw
        self.batch = batch
        self.graph = Graph("random")
        self.values: list[Node] = []

    def float_input(self, shape: tuple[int, ...]) -> Node:
        return self.keep(self.graph.input("x", TensorType(DType.F32, shape)))

    def weight(self, *shape: int) -> Node:
        name = f"w{len(self.graph)}"
        return self.graph.weight(name, TensorType(DType.F32, shape), f"layer.{name}")

    def ids(self, name: str, *shape: int) -> Node:
        dtype = self.draw(st.sampled_from((DType.I64, DType.I32)))
        return self.graph.input(name, TensorType(dtype, shape))

    def keep(self, node: Node) -> Node:
        self.values.append(node)
        return node

    def pick(self, is_wanted: Callable[[Node], bool] = lambda node: True) -> Node | None:
        wanted = [node for node in self.values if is_wanted(node)]
        return self.draw(st.sampled_from(wanted)) if wanted else None

    def size(self, low: int = 1, high: int = 4) -> int:
        return self.draw(st.integers(low, high))

    def choose(self, options: Sequence[str]) -> str:
        return self.draw(st.sampled_from(options))

    def add(self, op: str, operands, **attributes) -> None:
        self.keep(self.graph.add(op, operands, attributes))


def _unary(draft: Draft) -> None:
    draft.add(draft.choose(_UNARY), (draft.pick(),))


def _binary(draft: Draft) -> None:
    first = draft.pick()
    second = draft.pick(lambda node: _broadcasts(first, node))
    draft.add(draft.choose(_BINARY), (first, second))


def _broadcasts(first: Node, second: Node) -> bool:
    pairs = zip(reversed(first.shape), reversed(second.shape), strict=False)
    if not all(1 in pair or pair[0] == pair[1] for pair in pairs):
        return False
    return math.prod(np.broadcast_shapes(first.shape, second.shape)) <= MAX_ELEMENTS


def _where(draft: Draft) -> None:
    first = draft.pick()
    second = draft.pick(lambda node: _broadcasts(first, node))
    condition = draft.graph.add(draft.choose(("gt", "le", "ne")), (first, second))
    draft.add("where", (condition, first, second))


def _scale(draft: Draft) -> None:
    draft.add("mul", (draft.pick(), draft.graph.const("scale", np.array(0.5, np.float32))))


def _cast(draft: Draft) -> None:
    narrow = draft.graph.add(
        "cast", (draft.pick(),), {"to": draft.draw(st.sampled_from((DType.BF16, DType.F64)))}
    )
    draft.add("cast", (narrow,), to=DType.F32)


def _linear(draft: Draft) -> None:
    first = draft.pick(lambda node: node.type.rank > 0)
    if first is None:
        return
    parts = [first]
    other = draft.pick(lambda node: node.type.rank > 0 and node.shape[:-1] == first.shape[:-1])
    if other is not None and draft.draw(st.booleans()):
        parts.append(other)
    width = draft.size()
    bias = draft.weight(width) if draft.draw(st.booleans()) else None
    weight = draft.weight(width, sum(part.shape[-1] for part in parts))
    draft.add("linear", (tuple(parts), weight, bias), act=draft.choose(("none", "relu", "sigmoid")))


def _mm(draft: Draft) -> None:
    left = draft.pick(lambda node: node.type.rank == 2)
    if left is not None:
        draft.add("mm", (left, draft.weight(left.shape[1], draft.size())))


def _addmm(draft: Draft) -> None:
    left = draft.pick(lambda node: node.type.rank == 2)
    if left is not None:
        width = draft.size()
        bias = draft.pick(lambda node: node.shape in ((width,), (left.shape[0], width), (1, width)))
        operands = (bias or draft.weight(width), left, draft.weight(left.shape[1], width))
        draft.add("addmm", operands, alpha=0.5, beta=2.0)


def _bmm(draft: Draft) -> None:
    left = draft.pick(lambda node: node.type.rank == 3)
    if left is None:
        return
    batch, _, inner = left.shape
    right = draft.pick(lambda node: node.type.rank == 3 and (node.shape[0], node.shape[2]) == (batch, inner))
    draft.add("bmm", (left, right), trans_b=True)


def _pairs(draft: Draft) -> None:
    first = draft.pick(lambda node: node.type.rank in (2, 3))
    if first is None:
        return
    ends = (first.shape[0], first.shape[-1])
    second = draft.pick(lambda n: n.type.rank in (2, 3) and (n.shape[0], n.shape[-1]) == ends)
    pairs = draft.choose(("strict_lower", "lower", "strict_upper", "upper"))
    draft.add("pairwise_dot", ((first, second),), pairs=pairs)


def _embedding(draft: Draft) -> None:
    ids = draft.ids("ids", draft.batch, draft.size())
    draft.add("embedding", (draft.weight(5, draft.size()), ids))


def _bag(draft: Draft) -> None:
    count = draft.batch * draft.size()
    operands = (
        draft.weight(5, draft.size()),
        draft.ids("bag_ids", count),
        draft.ids("offsets", draft.batch),
        None,
    )
    draft.add("embedding_bag", operands, mode=draft.choose(("sum", "mean", "max")))


def _group(draft: Draft) -> None:
    width, count = draft.size(), draft.size(1, 3)
    tables = tuple(draft.weight(5, width) for _ in range(count))
    ids = tuple(draft.ids("bag_ids", draft.batch * 2) for _ in range(count))
    offsets = tuple(draft.ids("offsets", draft.batch) for _ in range(count))
    draft.add("embedding_bag_group", (tables, ids, offsets, (None,) * count), modes=("sum",) * count)


def _view(draft: Draft) -> None:
    node = draft.pick()
    assert node is not None
    shape: list[int] = []
    rest = node.type.numel
    while rest > 1 and len(shape) < MAX_RANK - 1:
        factor = draft.draw(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0]))
        shape.append(factor)
        rest //= factor
    draft.add("view", (node,), shape=(*shape, rest))


def _permute(draft: Draft) -> None:
    node = draft.pick()
    assert node is not None
    draft.add("permute", (node,), perm=tuple(draft.draw(st.permutations(range(node.type.rank)))))


def _expand(draft: Draft) -> None:
    node = draft.pick(lambda node: node.type.rank < MAX_RANK)
    if node is None:
        return
    new = (draft.batch,) if draft.draw(st.booleans()) else ()
    shape = (*new, *(draft.size() if size == 1 else size for size in node.shape))
    if math.prod(shape) <= MAX_ELEMENTS:
        draft.add("expand", (node,), shape=shape)


def _slice(draft: Draft) -> None:
    node = draft.pick(lambda node: node.type.rank > 0)
    if node is None:
        return
    dim = draft.size(0, node.type.rank - 1)
    start = draft.size(0, node.shape[dim] - 1)
    stop = draft.size(start + 1, node.shape[dim])
    draft.add("slice", (node,), dim=dim, start=start, stop=stop, step=draft.size(1, 2))


def _select(draft: Draft) -> None:
    node = draft.pick(lambda node: node.type.rank > 0)
    if node is not None:
        dim = draft.size(0, node.type.rank - 1)
        draft.add("select", (node,), dim=dim, index=draft.size(0, node.shape[dim] - 1))


def _cat(draft: Draft) -> None:
    first = draft.pick(lambda node: node.type.rank > 0)
    if first is None:
        return
    dim = draft.size(0, first.type.rank - 1)
    around = (first.shape[:dim], first.shape[dim + 1 :])
    second = draft.pick(
        lambda n: n.type.rank == first.type.rank and (n.shape[:dim], n.shape[dim + 1 :]) == around
    )
    assert second is not None
    if first.type.numel + second.type.numel <= MAX_ELEMENTS:
        draft.add("cat", ((first, second),), dim=dim)


def _reduce(draft: Draft) -> None:
    node = draft.pick(lambda node: node.type.rank > 0)
    if node is not None:
        dims = draft.draw(st.sets(st.integers(0, node.type.rank - 1), min_size=1))
        keepdim = draft.draw(st.booleans())
        draft.add(draft.choose(_REDUCTIONS), (node,), dims=tuple(sorted(dims)), keepdim=keepdim)


def _softmax(draft: Draft) -> None:
    node = draft.pick(lambda node: node.type.rank > 0)
    if node is not None:
        op = draft.choose(("softmax", "log_softmax"))
        draft.add(op, (node,), dim=draft.size(0, node.type.rank - 1))


def _layer_norm(draft: Draft) -> None:
    node = draft.pick(lambda node: node.type.rank > 0)
    if node is not None:
        draft.add("layer_norm", (node, draft.weight(node.shape[-1]), None), eps=1e-5)


def _index(draft: Draft) -> None:
    node = draft.pick(lambda node: node.type.rank > 0)
    if node is None:
        return
    dim = draft.size(0, node.type.rank - 1)
    ids = draft.draw(st.lists(st.integers(0, node.shape[dim] - 1), min_size=1, max_size=4))
    const = draft.graph.const("ids", np.array(ids))
    if draft.draw(st.booleans()):
        draft.add("index_select", (node, const), dim=dim)
    else:
        draft.add("index", (node, (*(None,) * dim, const)))


def _pick_rows(draft: Draft) -> None:
    """Ids a request choose rows of a weight: row-local although along the leading dimension."""
    table, ids = draft.weight(5, draft.size()), draft.ids("ids", draft.batch)
    if draft.draw(st.booleans()):
        draft.add("index_select", (table, ids), dim=0)
    else:
        draft.add("index", (table, (ids,)))


def _gather(draft: Draft) -> None:
    node = draft.pick(lambda node: node.type.rank == 2)
    if node is not None:
        ids = draft.ids("ids", draft.size(1, node.shape[0]), draft.size())
        draft.add("gather", (node, ids), dim=1)


STEPS: tuple[Callable[[Draft], None], ...] = (
    _unary,
    _binary,
    _where,
    _scale,
    _cast,
    _linear,
    _mm,
    _addmm,
    _bmm,
    _pairs,
    _embedding,
    _bag,
    _group,
    _view,
    _permute,
    _expand,
    _slice,
    _select,
    _cat,
    _reduce,
    _softmax,
    _layer_norm,
    _index,
    _pick_rows,
    _gather,
)


# Those that may turn the last bit of a value into a whole number, or choose by it.
ROUNDING_STEPS = (_unary, _where, _cast)
_SMALL_BATCHES = st.integers(1, 3)


@st.composite
def graphs(
    draw: DrawFn,
    max_steps: int = 10,
    steps: Sequence[Callable[[Draft], None]] = STEPS,
    batches: st.SearchStrategy[int] = _SMALL_BATCHES,
) -> Graph:
    """A graph whose outputs are one to three of its values, the last one among them."""
    draft = Draft(draw, draw(batches))
    draft.float_input((draft.batch, draft.size()))
    draft.float_input((draft.batch, draft.size(1, 3), draft.size()))
    draft.keep(draft.weight(draft.size()))
    for step in draw(st.lists(st.sampled_from(steps), min_size=1, max_size=max_steps)):
        step(draft)
        if draft.values[-1].type.numel > MAX_ELEMENTS:
            break
    others = draw(st.lists(st.sampled_from(draft.values), max_size=2))
    draft.graph.set_outputs([*others, draft.values[-1]])
    return draft.graph
