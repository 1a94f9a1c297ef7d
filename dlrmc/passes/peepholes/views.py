"""Views of views, and values that are taken apart and put together again."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from dlrmc.ir.graph import Node
from dlrmc.passes.builder import Builder
from dlrmc.passes.matching import Match
from dlrmc.passes.predicates import has_negative, index_range
from dlrmc.passes.rule import Rule


def _moves_units_only(m: Match) -> bool:
    moved = [dim for dim in m.p if m.S[dim] != 1]
    return m.p != tuple(range(len(m.p))) and all(a < b for a, b in pairwise(moved))


def _slice_of_slice(b: Builder, m: Match) -> Node:
    start, stop = m.a + m.s * m.step, min(m.a + m.e * m.step, m.z)
    return b.slice(m.x, dim=m.d, start=start, stop=max(start, stop), step=m.step * m.step2)


def _parts_at(m: Match, start: int, stop: int) -> list[tuple[Node, int]]:
    """The one part of a cat that holds start to stop along its dimension, and where it begins; or nothing."""
    found: list[tuple[Node, int]] = []
    begin = 0
    for part in m.parts:
        end = begin + part.shape[m.d]
        if begin <= start < stop <= end:
            found.append((part, begin))
        begin = end
    return found


def _slice_of_part(b: Builder, m: Match) -> Node:
    [(part, begin)] = _parts_at(m, m.s, m.e)
    return b.slice(part, dim=m.d, start=m.s - begin, stop=m.e - begin, step=m.step)


def _select_of_part(b: Builder, m: Match) -> Node:
    [(part, begin)] = _parts_at(m, m.i, m.i + 1)
    return b.select(part, dim=m.d, index=m.i - begin)


def _slice_by_indices(b: Builder, m: Match, dim: int) -> Node:
    values = index_range(m.i, m.x.shape[dim]) or range(0)
    return b.slice(m.x, dim=dim, start=values.start, stop=values.stop, step=values.step)


def _is_own_row(m: Match) -> bool:
    """Whether the first index tensor names each row of x once, in order, and the second its places."""
    size: int = m.B
    shape = (size, 1) if m.i.type.rank == 2 else (size,)
    if not m.r.is_op("const") or m.r.shape != shape or not m.L:
        return False
    is_each_row = np.array_equal(m.r.value.reshape(-1), np.arange(size))
    return is_each_row and m.i.type.rank in (1, 2) and m.i.shape[0] == size


def _own_places(b: Builder, m: Match) -> Node:
    """The places along dimension 1, counted from the front, for all that stands at each."""
    ids = m.i
    if not ids.is_op("argsort"):
        zero, size = (b.const(np.array(number, ids.type.dtype.numpy)) for number in (0, m.L))
        ids = b.where(b.lt(ids, zero), b.add(ids, size), ids)
    count = m.i.shape[1] if m.i.type.rank == 2 else 1
    ids = b.view_if_needed(ids, (m.B, count, *(1,) * len(m.S)))
    wide = b.expand(ids, (m.B, count, *m.S)) if m.S else ids
    return b.view_if_needed(b.gather(m.x, wide, dim=1), m.y.shape)


def _flattens_from_cat_dim(m: Match) -> bool:
    return len(m.S) > m.d + 1 and (*m.S[: m.d], math.prod(m.S[m.d :])) == m.R


def _cat_of_flat_parts(b: Builder, m: Match) -> Node:
    parts = [b.view(part, (*part.shape[: m.d], math.prod(part.shape[m.d :]))) for part in m.parts]
    return b.cat(*parts, dim=m.d)


RULES: tuple[Rule, ...] = (
    Rule(
        name="index-of-each-row-to-gather",
        why="Every row picks from itself, which a row program may hold.",
        match="""%x : T[B,L,*S]
                 %y = index(%x, %r, %i)""",
        where=_is_own_row,
        build=_own_places,
    ),
    Rule(
        name="view-of-view",
        why="Only the last shape counts.",
        match="""%v = view(%x) {shape=$s}
                 %y = view(%v) {shape=$t}""",
        shared=("v",),
        build=lambda b, m: b.view_if_needed(m.x, m.t),
    ),
    Rule(
        name="permute-of-permute",
        why="Two orders of dimensions are one.",
        match="""%v = permute(%x) {perm=$p}
                 %y = permute(%v) {perm=$q}""",
        shared=("v",),
        build=lambda b, m: b.permute(m.x, tuple(m.p[dim] for dim in m.q)),
    ),
    Rule(
        name="permute-of-units-to-view",
        why="Where only dimensions of size 1 move, the elements stay in order.",
        match="""%x : T[*S]
                 %y = permute(%x) {perm=$p} : T[*R]""",
        where=_moves_units_only,
        build=lambda b, m: b.view(m.x, m.R),
    ),
    Rule(
        name="expand-of-expand",
        why="Only the last shape counts.",
        match="""%v = expand(%x) {shape=$s}
                 %y = expand(%v) {shape=$t}""",
        shared=("v",),
        build=lambda b, m: b.expand(m.x, m.t),
    ),
    Rule(
        name="expand-by-units-to-view",
        why="Where only dimensions of size 1 are added, nothing is repeated.",
        match="""%x : T[*S]
                 %y = expand(%x) {shape=$t} : T[*R]""",
        where=lambda m: m.S != m.R and math.prod(m.S) == math.prod(m.R) != 0,
        build=lambda b, m: b.view(m.x, m.R),
    ),
    Rule(
        name="slice-of-slice",
        why="Two windows along one dimension are one.",
        match="""%v = slice(%x) {dim=$d, start=$a, stop=$z, step=$step}
                 %y = slice(%v) {dim=$d, start=$s, stop=$e, step=$step2}""",
        shared=("v",),
        build=_slice_of_slice,
    ),
    Rule(
        name="select-of-slice",
        why="The element is found without the window.",
        match="""%v = slice(%x) {dim=$d, start=$a, stop=$z, step=$step}
                 %y = select(%v) {dim=$d, index=$i}""",
        shared=("v",),
        build=lambda b, m: b.select(m.x, dim=m.d, index=m.a + m.i * m.step),
    ),
    Rule(
        name="select-of-unit-dimension-to-view",
        why="There is nothing to choose from.",
        match="""%x : T[*S]
                 %y = select(%x) {dim=$d, index=0} : T[*R]""",
        where=lambda m: m.S[m.d] == 1,
        build=lambda b, m: b.view(m.x, m.R),
    ),
    Rule(
        name="slice-of-cat",
        why="The slice lies within one part, so the cat is not needed for it.",
        match="""%c = cat(*%parts) {dim=$d}
                 %y = slice(%c) {dim=$d, start=$s, stop=$e, step=$step}""",
        shared=("c",),
        where=lambda m: bool(_parts_at(m, m.s, m.e)),
        build=_slice_of_part,
    ),
    Rule(
        name="select-of-cat",
        why="The element lies in one part, so the cat is not needed for it.",
        match="""%c = cat(*%parts) {dim=$d}
                 %y = select(%c) {dim=$d, index=$i}""",
        shared=("c",),
        build=_select_of_part,
    ),
    Rule(
        name="cat-of-adjacent-slices",
        why="Two windows side by side are one window.",
        match="""%a = slice(%x) {dim=$d, start=$s, stop=$m}
                 %b = slice(%x) {dim=$d, start=$m, stop=$e}
                 %y = cat(*%before, %a, %b, *%after) {dim=$d}""",
        shared=("a", "b"),
        build=lambda b, m: b.cat(*m.before, b.slice(m.x, dim=m.d, start=m.s, stop=m.e), *m.after, dim=m.d),
    ),
    Rule(
        name="cat-of-cat",
        why="A list in a list is one list, copied once.",
        match="""%c = cat(*%parts) {dim=$d}
                 %y = cat(*%before, %c, *%after) {dim=$d}""",
        build=lambda b, m: b.cat(*m.before, *m.parts, *m.after, dim=m.d),
    ),
    Rule(
        name="flattened-cat-to-cat-of-flat",
        why="The parts are flattened, which is free, so that readers see a cat along the last dimension.",
        match="""%c = cat(*%parts) {dim=$d} : T[*S]
                 %y = view(%c) {shape=$t} : T[*R]""",
        where=_flattens_from_cat_dim,
        build=_cat_of_flat_parts,
    ),
    Rule(
        name="index-select-of-range-to-slice",
        why="Constant ids in ascending order at equal distances are a window, which needs no copy.",
        match="%y = index_select(%x, %i) {dim=$d}",
        where=lambda m: index_range(m.i, m.x.shape[m.d]) is not None and not has_negative(m.i),
        build=lambda b, m: _slice_by_indices(b, m, m.d),
    ),
    *(
        Rule(
            name=f"index-of-range-to-slice-dim-{dim}",
            why="Constant indices in ascending order at equal distances are a window, which needs no copy.",
            match=f"%y = index(%x, {'_, ' * dim}%i)",
            where=lambda m, dim=dim: index_range(m.i, m.x.shape[dim]) is not None,
            build=lambda b, m, dim=dim: _slice_by_indices(b, m, dim),
        )
        for dim in range(3)
    ),
)
