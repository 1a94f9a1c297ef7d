"""One test of a rewrite rule: before, after, and a near miss."""

from __future__ import annotations

from dataclasses import dataclass

from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph


@dataclass(frozen=True)
class RuleCase:
    """Texts are what stands between the braces of a graph.

    Args:
        rule: the rule's name.
        before: where the rule fires.
        after: what stands there then, dead values left out.
        miss: nearly the same, where it must not fire.
        fired: how often it fires.
    """

    rule: str
    before: str
    after: str
    miss: str
    fired: int = 1


def graph_of(body: str) -> Graph:
    """The body as a graph; inputs may stand anywhere in it."""
    lines = [line.strip() for line in body.strip().splitlines()]
    inputs = [line for line in lines if line.startswith("input ")]
    others = [line for line in lines if not line.startswith("input ")]
    return parse_graph("\n".join(["graph @case {", *inputs, *others, "}"]), "case")
