"""Products of pairs of features: only the pairs that are kept, from the features where they are."""

from __future__ import annotations

from dlrmc.ir.graph import Node
from dlrmc.passes.builder import Builder
from dlrmc.passes.matching import Match
from dlrmc.passes.predicates import flat_pair_order, has_negative, is_read_by_parts, pair_order
from dlrmc.passes.rule import Rule

_WHY = "Only the triangle that is kept is computed, and the F x F matrix is never made."
_SWAP = (0, 2, 1)


def _pairs(m: Match) -> str | None:
    return pair_order(m.i, m.j, m.F)


def _flat_pairs(m: Match) -> str | None:
    return flat_pair_order(m.i, m.F)


def _dots(b: Builder, features: Node, pairs: str | None) -> Node:
    return b.pairwise_dot(features, pairs=pairs or "")


def _has_whole_features(m: Match) -> bool:
    """Whether each part of %c : T[B,W] holds whole features of width D."""
    return m.cd == 1 and m.D > 0 and all(part.shape[1] % m.D == 0 for part in m.parts)


def _dots_of_split_parts(b: Builder, m: Match) -> Node:
    parts = [b.view(part, (m.B, part.shape[1] // m.D, m.D)) for part in m.parts]
    return b.pairwise_dot(*m.before, *parts, *m.after, pairs=m.pairs)


def _is_unit_view(part: Node) -> bool:
    """Whether the part is a view [B,1,D] of [B,D]."""
    return (
        part.is_op("view") and part.type.rank == 3 and part.inputs[0].shape == (part.shape[0], part.shape[2])
    )


def _without_unit(part: Node) -> Node:
    return part.inputs[0] if _is_unit_view(part) else part


# The gram matrix of features stored as rows, or as columns.
_ROWS = """%t : T[B,F,D]
           %z = bmm(%t, %t) {trans_b=true} : T[B,F,F]"""
_COLUMNS = """%t : T[B,D,F]
              %z = bmm(%t, %t) {trans_a=true} : T[B,F,F]"""


RULES: tuple[Rule, ...] = (
    Rule(
        name="bmm-of-transposed-left",
        why="The product reads the left side with other strides.",
        match="""%t = permute(%x) {perm=[0,2,1]}
                 %y = bmm(%t, %b) {trans_a=$p, trans_b=$q}""",
        shared=("t",),
        build=lambda b, m: b.bmm(m.x, m.b, trans_a=not m.p, trans_b=m.q),
    ),
    Rule(
        name="bmm-of-transposed-right",
        why="The product reads the right side with other strides.",
        match="""%t = permute(%x) {perm=[0,2,1]}
                 %y = bmm(%a, %t) {trans_a=$p, trans_b=$q}""",
        shared=("t",),
        build=lambda b, m: b.bmm(m.a, m.x, trans_a=m.p, trans_b=not m.q),
    ),
    Rule(
        name="triangle-of-gram-to-pairwise-dot",
        why=_WHY,
        match=f"""{_ROWS}
                  %y = index(%z, _, %i, %j) : T[B,P]""",
        where=lambda m: _pairs(m) is not None,
        build=lambda b, m: _dots(b, m.t, _pairs(m)),
    ),
    Rule(
        name="triangle-of-column-gram-to-pairwise-dot",
        why=_WHY,
        match=f"""{_COLUMNS}
                  %y = index(%z, _, %i, %j) : T[B,P]""",
        where=lambda m: _pairs(m) is not None,
        build=lambda b, m: _dots(b, b.permute(m.t, _SWAP), _pairs(m)),
    ),
    Rule(
        name="triangle-of-flat-gram-to-pairwise-dot",
        why=_WHY,
        match=f"""{_ROWS}
                  %v = view(%z) {{shape=$s}} : T[B,G]
                  %y = index(%v, _, %i) : T[B,P]""",
        where=lambda m: _flat_pairs(m) is not None,
        build=lambda b, m: _dots(b, m.t, _flat_pairs(m)),
    ),
    Rule(
        name="triangle-selected-of-flat-gram-to-pairwise-dot",
        why=_WHY,
        match=f"""{_ROWS}
                  %v = view(%z) {{shape=$s}} : T[B,G]
                  %y = index_select(%v, %i) {{dim=1}} : T[B,P]""",
        where=lambda m: _flat_pairs(m) is not None and not has_negative(m.i),
        build=lambda b, m: _dots(b, m.t, _flat_pairs(m)),
    ),
    Rule(
        name="pairwise-dot-of-cat-to-parts",
        why="The features are read where they are; the concatenation is never made.",
        match="""%c = cat(*%parts) {dim=1} : T[B,F,D]
                 %y = pairwise_dot(*%before, %c, *%after) {pairs=$pairs}""",
        shared=("c",),
        where=lambda m: is_read_by_parts(m, m.c),
        build=lambda b, m: b.pairwise_dot(*m.before, *m.parts, *m.after, pairs=m.pairs),
    ),
    Rule(
        name="pairwise-dot-of-split-cat-to-parts",
        why="The features are read where they are; the concatenation is never made.",
        match="""%c = cat(*%parts) {dim=$cd} : T[B,W]
                 %v = view(%c) {shape=$s} : T[B,F,D]
                 %y = pairwise_dot(*%before, %v, *%after) {pairs=$pairs}""",
        shared=("c", "v"),
        where=lambda m: _has_whole_features(m) and is_read_by_parts(m, m.c),
        build=_dots_of_split_parts,
    ),
    Rule(
        name="pairwise-dot-of-single-features",
        why="A part of one feature needs no dimension for it.",
        match="%y = pairwise_dot(*%parts) {pairs=$pairs}",
        where=lambda m: any(_is_unit_view(part) for part in m.parts),
        build=lambda b, m: b.pairwise_dot(*(_without_unit(part) for part in m.parts), pairs=m.pairs),
    ),
)
