"""Rewrite rules by theme. The order is that of preference at one node; `engine.apply_rules` goes on to a fixpoint."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from dlrmc.passes.peepholes import activation, elementwise, embedding, identity, interaction, linear, views
from dlrmc.passes.rule import Rule

THEMES: Final = MappingProxyType(
    {
        "identity": identity.RULES,
        "views": views.RULES,
        "elementwise": elementwise.RULES,
        "linear": linear.RULES,
        "activation": activation.RULES,
        "embedding": embedding.RULES,
        "interaction": interaction.RULES,
    }
)

ALL_RULES: tuple[Rule, ...] = tuple(rule for rules in THEMES.values() for rule in rules)
