"""Ops that change nothing."""

from __future__ import annotations

from dlrmc.passes.matching import Match
from dlrmc.passes.predicates import is_filled_with
from dlrmc.passes.rule import Rule

_REDUCTIONS = ("sum", "mean", "amax", "amin", "prod")


def _reduces_units(m: Match) -> bool:
    return all(m.S[dim] == 1 for dim in m.d)


def _unit_reduction(op: str) -> Rule:
    return Rule(
        name=f"{op}-of-unit-dimensions-to-view",
        why="One element is its own sum, mean, product, maximum and minimum.",
        match=f"""%x : T[*S]
                  %y = {op}(%x) {{dims=$d, keepdim=$k}} : T[*R]""",
        where=_reduces_units,
        build=lambda b, m: b.view_if_needed(m.x, m.R),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        name="view-of-same-shape",
        why="The value is there already.",
        match="""%x : T[*S]
                 %y = view(%x) {shape=$s} : T[*S]""",
        build=lambda _, m: m.x,
    ),
    Rule(
        name="permute-in-order",
        why="The dimensions stay where they are.",
        match="%y = permute(%x) {perm=$p} : T[*S]",
        where=lambda m: m.p == tuple(range(len(m.S))),
        build=lambda _, m: m.x,
    ),
    Rule(
        name="expand-to-same-shape",
        why="Nothing is repeated.",
        match="""%x : T[*S]
                 %y = expand(%x) {shape=$s} : T[*S]""",
        build=lambda _, m: m.x,
    ),
    Rule(
        name="cast-to-same-dtype",
        why="The value has the dtype already.",
        match="""%x : T[*S]
                 %y = cast(%x) {to=$t} : T[*S]""",
        build=lambda _, m: m.x,
    ),
    Rule(
        name="slice-of-all",
        why="The slice keeps every element.",
        match="""%x : T[*S]
                 %y = slice(%x) {dim=$d, start=0, stop=$e, step=$s} : T[*S]""",
        build=lambda _, m: m.x,
    ),
    Rule(
        name="cat-of-one",
        why="A list of one part is the part.",
        match="%y = cat(%x) {dim=$d}",
        build=lambda _, m: m.x,
    ),
    Rule(
        name="mul-by-one",
        why="x * 1 is x, to the bit.",
        match="""%x : T[*S]
                 %y = mul(%x, %c) : T[*S]""",
        where=lambda m: is_filled_with(m.c, 1),
        build=lambda _, m: m.x,
    ),
    Rule(
        name="div-by-one",
        why="x / 1 is x, to the bit.",
        match="""%x : T[*S]
                 %y = div(%x, %c) : T[*S]""",
        where=lambda m: is_filled_with(m.c, 1),
        build=lambda _, m: m.x,
    ),
    Rule(
        name="neg-of-neg",
        why="The signs cancel, to the bit.",
        match="""%n = neg(%x)
                 %y = neg(%n)""",
        build=lambda _, m: m.x,
    ),
    *(_unit_reduction(op) for op in _REDUCTIONS),
)
