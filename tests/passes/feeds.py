"""Random inputs and weights for any graph: ids in range, offsets that make ragged and empty bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import many, many_optional, one, optional
from dlrmc.ir.reference import evaluate
from dlrmc.ir.types import DType

Array = NDArray[Any]

_TRANSPARENT = ("view", "permute", "expand", "slice", "select", "cat", "cast")


def random_feeds(graph: Graph, seed: int = 0) -> tuple[dict[str, Array], dict[str, Array]]:
    """An array for each input by name, and for each weight by target."""
    random = np.random.default_rng(seed)
    inputs = {node.name: _value(graph, node, random) for node in graph.inputs}
    weights = {node.target: _value(graph, node, random) for node in graph.nodes if node.is_op("weight")}
    return inputs, weights


def assert_same_meaning(before: Graph, after: Graph, seeds: tuple[int, ...] = (0, 1)) -> None:
    """The references of two graphs of the same inputs and weights agree on random values."""
    assert [(n.name, n.type) for n in before.inputs] == [(n.name, n.type) for n in after.inputs]
    for seed in seeds:
        inputs, weights = random_feeds(before, seed)
        pairs = zip(evaluate(before, inputs, weights), evaluate(after, inputs, weights), strict=True)
        for output, (wanted, found) in zip(after.outputs, pairs, strict=True):
            assert found.dtype == wanted.dtype, output
            assert found.shape == wanted.shape, output
            _assert_close(found, wanted, output.type.dtype)


def _assert_close(found: Array, wanted: Array, dtype: DType) -> None:
    if not dtype.is_float:
        np.testing.assert_array_equal(found, wanted)
        return
    tolerance = {DType.F64: 1e-12, DType.F32: 2e-6, DType.F16: 4e-3, DType.BF16: 4e-2}[dtype]
    wide, wide_wanted = found.astype(np.float64), wanted.astype(np.float64)
    finite = np.abs(wide_wanted[np.isfinite(wide_wanted)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    np.testing.assert_allclose(wide, wide_wanted, rtol=tolerance, atol=tolerance * scale)


def _value(graph: Graph, node: Node, random: np.random.Generator) -> Array:
    shape, dtype = node.shape, node.type.dtype
    if dtype.is_float:
        return _floats(graph, node, random).astype(dtype.numpy)
    if dtype is DType.BOOL:
        return random.integers(0, 2, shape).astype(np.bool_)
    low, high, ids = _range(graph, node)
    if ids is None:
        return random.integers(low, max(high, low + 1), shape).astype(dtype.numpy)
    return _offsets(shape, ids, random).astype(dtype.numpy)


def _floats(graph: Graph, node: Node, random: np.random.Generator) -> Array:
    """Normally distributed values, but ids where some op casts them to integers."""
    is_id = any(user.is_op("cast") and user.type.dtype.is_integer for user in graph.users(node))
    if not is_id:
        return random.standard_normal(node.shape)
    _, high, _ = _range(graph, node)
    return random.uniform(0, high, node.shape)


def _offsets(shape: tuple[int, ...], ids: int, random: np.random.Generator) -> Array:
    """Rows of ascending offsets from 0, so that some bags are empty and their lengths differ."""
    offsets = np.sort(random.integers(0, ids + 1, shape), axis=-1)
    offsets[..., :1] = 0
    return offsets


def _range(graph: Graph, node: Node) -> tuple[int, int, int | None]:
    """The lowest value, the end of the range, and for offsets the number of ids."""
    low, high = 0, 7
    for user in graph.users(node):
        if user.is_op(*_TRANSPARENT):
            low, further, ids = _range(graph, user)
            high = min(high, further) if high != 7 else further
            if ids is not None:
                return 0, 0, ids
            continue
        found = _limit(user, node)
        if found is None:
            continue
        if found[1] is not None:
            return 0, 0, found[1]
        high = found[0]
    return low, high, None


def _limit(user: Node, ids: Node) -> tuple[int, int | None] | None:
    """The number of rows that the ids choose from, or the number of ids that the offsets divide."""
    match user.op.name:
        case "embedding" if one(user.operands[1]) is ids:
            return one(user.operands[0]).shape[0], None
        case "embedding_bag" | "quantized_embedding_bag":
            if optional(user.operands[2]) is ids:
                return 0, one(user.operands[1]).type.numel
            return one(user.operands[0]).shape[0], None
        case "embedding_bag_group" | "quantized_embedding_bag_group":
            return _group_limit(user, ids)
        case "index_select" | "gather" if one(user.operands[1]) is ids:
            return one(user.operands[0]).shape[user.attributes.int("dim")], None
        case "index":
            places = [dim for dim, item in enumerate(many_optional(user.operands[1])) if item is ids]
            return min(one(user.operands[0]).shape[dim] for dim in places), None
        case _:
            return None


def _group_limit(user: Node, ids: Node) -> tuple[int, int | None] | None:
    tables, all_ids = many(user.operands[0]), many(user.operands[1])
    for item, offsets in zip(all_ids, many_optional(user.operands[2]) or (None,) * len(tables), strict=True):
        if offsets is ids:
            return 0, item.type.numel
    rows = [t.shape[0] for t, item in zip(tables, all_ids, strict=True) if item is ids]
    return (min(rows), None) if rows else None  # a table of bytes is of integers, too
