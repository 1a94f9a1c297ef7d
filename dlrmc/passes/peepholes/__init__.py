"""Rewrite rules by theme, in the order of preference at one node."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from dlrmc.passes.peepholes import (
    activation,
    attention,
    elementwise,
    embedding,
    identity,
    interaction,
    linear,
    views,
)
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
        "attention": attention.RULES,
    }
)

ALL_RULES: tuple[Rule, ...] = tuple(rule for rules in THEMES.values() for rule in rules)
