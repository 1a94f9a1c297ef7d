"""Lookups that are pooled become embedding bags, and bags of one fixed length need no offsets."""

from __future__ import annotations

import math
from types import MappingProxyType

from dlrmc.ir.graph import Node
from dlrmc.passes.builder import Builder
from dlrmc.passes.matching import Match
from dlrmc.passes.predicates import bag_length, is_filled_with
from dlrmc.passes.rule import Rule

# The reduction of a pooled lookup and the mode of the bag that it is.
_POOLS = ("sum", "mean")
# The ops that read ids by offsets, and what rules call them.
_BAGS = MappingProxyType({"embedding_bag": "bag", "quantized_embedding_bag": "quantized-bag"})


def _pools_rows(m: Match) -> bool:
    """Whether the dimension before the last is reduced, and no other, and is not empty."""
    return m.d == (len(m.S),) and m.L > 0


def _pooled_bag(b: Builder, m: Match, mode: str, weights: Node | None = None) -> Node:
    ids = b.view_if_needed(m.ids, (math.prod(m.S), m.L))
    bag = b.embedding_bag(m.w, ids, weights=weights, mode=mode)
    return b.view_if_needed(bag, m.root.shape)


def _pooled(mode: str) -> Rule:
    return Rule(
        name=f"{mode}-of-embedding-to-bag",
        why="The rows are summed as they are read; they are never written.",
        match=f"""%ids : I[*S,L]
                  %e = embedding(%w, %ids) : T[*S,L,D]
                  %y = {mode}(%e) {{dims=$d, keepdim=$k}}""",
        where=_pools_rows,
        build=lambda b, m: _pooled_bag(b, m, mode),
    )


def _pooled_view(mode: str) -> Rule:
    return Rule(
        name=f"{mode}-of-view-of-embedding-to-bag",
        why="The rows are summed as they are read; they are never written.",
        match=f"""%w : T[R,D]
                  %e = embedding(%w, %ids)
                  %v = view(%e) {{shape=$s}} : T[*S,L,D]
                  %y = {mode}(%v) {{dims=$d, keepdim=$k}}""",
        where=_pools_rows,
        build=lambda b, m: _pooled_bag(b, m, mode),
    )


def _weighted_bag(b: Builder, m: Match) -> Node:
    weights = b.view_if_needed(m.weights, (math.prod(m.S), m.L))
    return _pooled_bag(b, m, "sum", weights)


def _fixed_length(m: Match) -> int | None:
    return bag_length(m.o, m.M, m.last)


def _fixed_bag(b: Builder, m: Match) -> Node:
    shape = (m.o.shape[0] - int(m.last), _fixed_length(m) or 0)
    weights = None if m.s is None else b.view(m.s, shape)
    attributes = {**m.root.attributes, "include_last_offset": False}
    return b.op(m.root.op.name, m.w, b.view(m.ids, shape), None, weights, **attributes)


def _same_bag(b: Builder, m: Match, ids: Node, offsets: Node | None) -> Node:
    return b.op(m.root.op.name, m.w, ids, offsets, m.s, **m.root.attributes)


def _integers_of(op: str) -> tuple[Rule, ...]:
    """The rules about ids and offsets of one kind of bag."""
    bag = _BAGS[op]
    return (
        Rule(
            name=f"{bag}-of-constant-offsets-to-fixed-length",
            why="Where the offsets are 0, L, 2L, ... they need not be read.",
            match=f"""%ids : I[M]
                      %y = {op}(%w, %ids, %o, ?%s) {{include_last_offset=$last, ...}}""",
            where=lambda m: _fixed_length(m) is not None,
            build=_fixed_bag,
        ),
        Rule(
            name=f"cast-of-ids-of-{bag}",
            why="Kernels read i32 and i64 ids as they are.",
            match=f"""%ids : i32[*S]
                      %i = cast(%ids) {{to=i64}}
                      %y = {op}(%w, %i, ?%o, ?%s) {{...}}""",
            shared=("i",),
            build=lambda b, m: _same_bag(b, m, m.ids, m.o),
        ),
        Rule(
            name=f"cast-of-offsets-of-{bag}",
            why="Kernels read i32 and i64 offsets as they are.",
            match=f"""%offsets : i32[*S]
                      %o = cast(%offsets) {{to=i64}}
                      %y = {op}(%w, %ids, %o, ?%s) {{...}}""",
            shared=("o",),
            build=lambda b, m: _same_bag(b, m, m.ids, m.offsets),
        ),
    )


def _narrow_ids(op: str, attributes: str) -> Rule:
    return Rule(
        name=f"cast-of-ids-of-{op.replace('_', '-')}",
        why="Kernels read i32 and i64 ids as they are.",
        match=f"""%ids : i32[*S]
                  %i = cast(%ids) {{to=i64}}
                  %y = {op}(%x, %i) {attributes}""",
        shared=("i",),
        build=lambda b, m: b.op(op, m.x, m.ids, **m.root.attributes),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        name="index-select-of-rows-to-embedding",
        why="Choosing rows of a matrix is a lookup in a table.",
        match="""%w : T[R,D]
                 %y = index_select(%w, %ids) {dim=0}""",
        build=lambda b, m: b.embedding(m.w, m.ids),
    ),
    *(_pooled(mode) for mode in _POOLS),
    *(_pooled_view(mode) for mode in _POOLS),
    Rule(
        name="weighted-sum-of-embedding-to-bag",
        why="The rows are scaled and summed as they are read; they are never written.",
        match="""%ids : I[*S,L]
                 %e = embedding(%w, %ids) : T[*S,L,D]
                 %weights : T[*S,L]
                 %v = view(%weights) {shape=$s} : T[*S,L,1]
                 %m = mul(%e, %v) : T[*S,L,D]
                 %y = sum(%m) {dims=$d, keepdim=$k}""",
        shared=("v",),
        where=_pools_rows,
        build=_weighted_bag,
    ),
    Rule(
        name="bag-sum-over-length-to-mean",
        why="The bag divides by its length itself.",
        match="""%ids : I[B,L]
                 %s = embedding_bag(%w, %ids) : T[B,D]
                 %y = div(%s, %n) : T[B,D]""",
        where=lambda m: m.L > 0 and is_filled_with(m.n, m.L),
        build=lambda b, m: b.embedding_bag(m.w, m.ids, mode="mean"),
    ),
    *(rule for op in _BAGS for rule in _integers_of(op)),
    _narrow_ids("embedding", ""),
    _narrow_ids("index_select", "{dim=$d}"),
    _narrow_ids("gather", "{dim=$d}"),
)
