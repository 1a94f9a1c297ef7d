"""Every rule: where it fires and what it leaves, and where it nearly fits and must not fire."""

from __future__ import annotations

import pytest

from dlrmc.ir.printer import print_graph
from dlrmc.passes import dce
from dlrmc.passes.engine import apply_rules
from dlrmc.passes.peepholes import ALL_RULES
from dlrmc.passes.rule import Rule
from tests.passes.feeds import assert_same_meaning
from tests.passes.peepholes import (
    cases_activation,
    cases_attention,
    cases_elementwise,
    cases_embedding,
    cases_identity,
    cases_interaction,
    cases_linear,
    cases_views,
)
from tests.passes.rule_case import RuleCase, graph_of

CASES: tuple[RuleCase, ...] = (
    *cases_identity.CASES,
    *cases_views.CASES,
    *cases_elementwise.CASES,
    *cases_linear.CASES,
    *cases_activation.CASES,
    *cases_embedding.CASES,
    *cases_interaction.CASES,
    *cases_attention.CASES,
)
RULES = {rule.name: rule for rule in ALL_RULES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_fires(case: RuleCase) -> None:
    before, graph = graph_of(case.before), graph_of(case.before)
    result = apply_rules(graph, [RULES[case.rule]], checked=True)
    dce.run(graph)
    assert print_graph(graph) == _printed(case.after)
    assert result.counts == {case.rule: case.fired}
    assert_same_meaning(before, graph)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_near_miss_does_not_fire(case: RuleCase) -> None:
    graph = graph_of(case.miss)
    text = print_graph(graph)
    assert apply_rules(graph, [RULES[case.rule]], checked=True).changes == 0
    assert print_graph(graph) == text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_all_rules_together_keep_the_meaning(case: RuleCase) -> None:
    for text in (case.before, case.miss):
        before, graph = graph_of(text), graph_of(text)
        apply_rules(graph, ALL_RULES, checked=True)
        assert_same_meaning(before, graph)
        assert apply_rules(graph, ALL_RULES).changes == 0


def test_every_rule_has_a_case_and_a_reason() -> None:
    assert {case.rule for case in CASES} == {rule.name for rule in ALL_RULES}
    assert all(rule.why.endswith(".") for rule in ALL_RULES)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.name)
def test_names_are_words_in_dashes(rule: Rule) -> None:
    assert rule.name == rule.name.lower().replace("_", "-")


def _printed(body: str) -> str:
    """The text as the printer writes it."""
    return print_graph(graph_of(body))
