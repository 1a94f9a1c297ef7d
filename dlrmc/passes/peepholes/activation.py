"""Activations move into the epilogue of the linear that nothing else reads."""

from __future__ import annotations

from dlrmc.ir.attributes import Attribute
from dlrmc.ir.graph import Node
from dlrmc.passes.builder import Builder
from dlrmc.passes.matching import Match
from dlrmc.passes.rule import Rule

# The `act` of linear and the elementwise op that it stands for; both take the slope of leaky_relu.
_FORMS: tuple[tuple[str, str], ...] = (
    ("relu", "relu(%y)"),
    ("sigmoid", "sigmoid(%y)"),
    ("tanh", "tanh(%y)"),
    ("gelu", "gelu(%y) {approximate=none}"),
    ("gelu_tanh", "gelu(%y) {approximate=tanh}"),
    ("silu", "silu(%y)"),
    ("leaky_relu", "leaky_relu(%y) {slope=$slope}"),
)


def _activated(b: Builder, m: Match, act: str) -> Node:
    attributes: dict[str, Attribute] = {**m.l.attributes, "act": act}
    if act == "leaky_relu":
        attributes["slope"] = m.slope
    return b.op("linear", m.x, m.w, m.b, **attributes)


def _direct(act: str, form: str) -> Rule:
    return Rule(
        name=f"{act.replace('_', '-')}-into-linear",
        why="The activation is applied while the sums are still in registers.",
        match=f"""%l = linear([*%x], %w, ?%b) {{act=none, ...}}
                  %z = {form.replace("%y", "%l")}""",
        build=lambda b, m: _activated(b, m, act),
    )


def _through_view(act: str, form: str) -> Rule:
    return Rule(
        name=f"{act.replace('_', '-')}-of-view-into-linear",
        why="The activation is applied while the sums are still in registers; a view does not matter to it.",
        match=f"""%l = linear([*%x], %w, ?%b) {{act=none, ...}}
                  %y = view(%l) {{shape=$s}}
                  %z = {form}""",
        build=lambda b, m: b.view(_activated(b, m, act), m.s),
    )


RULES: tuple[Rule, ...] = (
    *(_direct(act, form) for act, form in _FORMS),
    *(_through_view(act, form) for act, form in _FORMS),
)
