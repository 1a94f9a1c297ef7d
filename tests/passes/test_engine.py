"""What the engine checks for every rule, and how it matches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dlrmc.errors import ParseError, PassError, VerifyError
from dlrmc.ir.graph import Node
from dlrmc.ir.printer import print_graph
from dlrmc.passes.builder import Builder
from dlrmc.passes.engine import apply_rules
from dlrmc.passes.matching import Match, matches
from dlrmc.passes.pattern_parser import parse_pattern
from dlrmc.passes.rule import Rule
from tests.passes.rule_case import graph_of

NEG_OF_NEG = "%n = neg(%x)\n%y = neg(%n)"
CHAIN = """input %x : f32[3]
           %n = neg(%x) : f32[3]
           %y = neg(%n) : f32[3]
           %z = relu(%y) : f32[3]
           return %z"""


def rule(match: str, build: Callable[[Builder, Match], Node], **more: object) -> Rule:
    return Rule("test", "A test.", match, build, **more)  # type: ignore[arg-type]


def found(pattern: str, body: str, root: str) -> list[Match]:
    graph = graph_of(body)
    return list(matches(parse_pattern(pattern, "test"), graph, graph.find(root)))


# -- matching ---


def test_a_repeated_name_is_the_same_value() -> None:
    body = """input %x : f32[3]
              input %z : f32[3]
              %a = add(%x, %x) : f32[3]
              %b = add(%x, %z) : f32[3]
              return %a, %b"""
    assert len(found("%y = add(%x, %x)", body, "a")) > 0
    assert found("%y = add(%x, %x)", body, "b") == []


def test_a_repeated_dimension_and_dtype_are_equal() -> None:
    body = """input %x : f32[3,3]
              input %z : f32[3,2]
              %a = relu(%x) : f32[3,3]
              %b = relu(%z) : f32[3,2]
              return %a, %b"""
    [match] = found("%y = relu(%x) : T[N,N]", body, "a")
    assert match.N == 3
    assert found("%y = relu(%x) : T[N,N]", body, "b") == []
    assert found("%y = relu(%x) : f16[N,M]", body, "b") == []
    [match] = found("%y = relu(%x) : T[*S,2]", body, "b")
    assert match.S == (3,)
    assert match.root.name == "b"


def test_a_rank_that_is_not_the_pattern_s_does_not_match() -> None:
    body = """input %x : f32[3,3]
              %a = relu(%x) : f32[3,3]
              return %a"""
    assert found("%y = relu(%x) : T[N]", body, "a") == []
    assert found("%y = relu(%x) : T[A,B,C]", body, "a") == []
    assert len(found("%y = relu(%x) : T[*S,A,B]", body, "a")) == 1
    assert found("%y = relu(%x) : T[*S,A,B,C]", body, "a") == []


def test_commutative_ops_match_either_way_and_others_do_not() -> None:
    body = """input %x : f32[3]
              input %z : f32[3]
              %n = neg(%z) : f32[3]
              %a = add(%x, %n) : f32[3]
              %s = sub(%x, %n) : f32[3]
              return %a, %s"""
    [match] = found("%n = neg(%v)\n%y = add(%n, %u)", body, "a")
    assert (match.u.name, match.v.name) == ("x", "z")
    assert found("%n = neg(%v)\n%y = sub(%n, %u)", body, "s") == []


def test_runs_take_any_number_of_items() -> None:
    body = """input %x : f32[3]
              %n = neg(%x) : f32[3]
              %c = cat(%x, %n, %x, %n) {dim=0} : f32[12]
              return %c"""
    pattern = "%n = neg(%v)\n%y = cat(*%a, %n, *%b) {dim=$d}"
    lengths = [(len(match.a), len(match.b)) for match in found(pattern, body, "c")]
    assert lengths == [(1, 2), (3, 0)]


def test_an_optional_operand_may_be_absent() -> None:
    body = """input %x : f32[2,3]
              weight %w : f32[4,3] = "w"
              weight %b : f32[4] = "b"
              %y = linear(%x, %w) : f32[2,4]
              %z = linear(%x, %w, %b) : f32[2,4]
              return %y, %z"""
    [match] = found("%y = linear([*%x], %w, ?%b)", body, "y")
    assert match.b is None
    [match] = found("%y = linear([*%x], %w, ?%b)", body, "z")
    assert match.b.name == "b"
    assert found("%y = linear([*%x], %w)", body, "z") == []
    with pytest.raises(AttributeError, match="binds no 'c', only"):
        _ = match.c


# -- checks ---


def test_the_replacement_keeps_the_name_and_the_place() -> None:
    graph = graph_of(CHAIN)
    result = apply_rules(graph, [rule(NEG_OF_NEG, lambda b, m: b.abs(m.x))], checked=True)
    assert result.counts == {"test": 1}
    assert print_graph(graph) == print_graph(
        graph_of("""input %x : f32[3]
                    %y = abs(%x) : f32[3]
                    %z = relu(%y) : f32[3]
                    return %z""")
    )


def test_an_existing_value_keeps_its_own_name() -> None:
    graph = graph_of(CHAIN.replace("neg(%x)", "abs(%x)").replace("%n", "%a"))
    apply_rules(graph, [rule("%y = neg(%x)", lambda _, m: m.x)], checked=True)
    assert [node.name for node in graph.nodes] == ["x", "a", "z"]


@pytest.mark.parametrize("more", ["%u = relu(%n) : f32[3]\nreturn %z, %u", "return %z, %n"])
def test_an_inner_value_read_outside_keeps_a_rule_from_firing(more: str) -> None:
    graph = graph_of(CHAIN.replace("return %z", more))
    assert apply_rules(graph, [rule(NEG_OF_NEG, lambda _, m: m.x)]).changes == 0


def test_a_shared_inner_value_stays_for_its_other_readers() -> None:
    graph = graph_of(CHAIN.replace("return %z", "return %z, %n"))
    assert apply_rules(graph, [rule(NEG_OF_NEG, lambda _, m: m.x, shared=("n",))], checked=True).changes == 1
    assert [node.name for node in graph.nodes] == ["x", "n", "z"]


def test_an_inner_value_used_twice_inside_the_match_is_no_outside_use() -> None:
    graph = graph_of("""input %x : f32[3]
                        %n = neg(%x) : f32[3]
                        %y = mul(%n, %n) : f32[3]
                        return %y""")
    square = rule("%n = neg(%x)\n%y = mul(%n, %n)", lambda b, m: b.mul(m.x, m.x))
    assert apply_rules(graph, [square], checked=True).changes == 1


def test_another_type_is_an_error_of_the_rule() -> None:
    wrong = rule(NEG_OF_NEG, lambda b, m: b.view(m.x, (1, 3)))
    with pytest.raises(PassError) as caught:
        apply_rules(graph_of(CHAIN), [wrong])
    assert caught.value.place == "rule test at %y"
    assert caught.value.found == "type f32[1,3]"
    assert caught.value.expected == "the root's type f32[3]"


def test_an_ill_typed_node_is_an_error_of_the_rule() -> None:
    wrong = rule(NEG_OF_NEG, lambda b, m: b.view(m.x, (2, 3)))
    with pytest.raises(PassError, match="rule test at %y") as caught:
        apply_rules(graph_of(CHAIN), [wrong])
    assert caught.value.context == ("%y = neg(%n) : f32[3]",)


def test_a_value_that_reads_the_root_is_an_error_of_the_rule() -> None:
    wrong = rule(NEG_OF_NEG, lambda b, m: b.neg(m.root))
    with pytest.raises(PassError, match="a value that reads the root"):
        apply_rules(graph_of(CHAIN), [wrong])


def test_the_root_itself_is_an_error_of_the_rule() -> None:
    with pytest.raises(PassError, match="the root itself"):
        apply_rules(graph_of(CHAIN), [rule(NEG_OF_NEG, lambda _, m: m.root)])


def test_dead_values_are_an_error_of_the_rule() -> None:
    def build(b: Builder, m: Match) -> Node:
        b.relu(m.x)
        return m.x

    with pytest.raises(PassError, match="which nothing reads"):
        apply_rules(graph_of(CHAIN), [rule(NEG_OF_NEG, build)])


def test_rules_that_undo_each_other_end_in_an_error() -> None:
    there = Rule("there", "A test.", "%y = sin(%x)", lambda b, m: b.cos(m.x))
    back = Rule("back", "A test.", "%y = cos(%x)", lambda b, m: b.sin(m.x))
    graph = graph_of("""input %x : f32[3]
                        %y = sin(%x) : f32[3]
                        return %y""")
    with pytest.raises(PassError) as caught:
        apply_rules(graph, [there, back])
    assert caught.value.found == "the peepholes are not done after 240 firings"
    assert caught.value.hint == "two rules undo each other; those that fired most stand first"
    assert caught.value.context[0].startswith("there: fired 12")


def test_a_broken_graph_is_found_after_the_pass() -> None:
    graph = graph_of(CHAIN)
    object.__setattr__(graph.find("z"), "result_type", graph.find("x").type.with_shape((1, 3)))
    with pytest.raises(VerifyError, match="after peepholes: V7"):
        apply_rules(graph, [])


def test_shared_names_an_inner_value() -> None:
    with pytest.raises(ParseError, match="shared='x'"):
        rule(NEG_OF_NEG, lambda _, m: m.x, shared=("x",))


def test_the_first_rule_that_fits_fires_and_sweeps_go_on() -> None:
    graph = graph_of(CHAIN)
    rules = [
        Rule("neg-to-sin", "A test.", "%y = neg(%x)", lambda b, m: b.sin(m.x)),
        Rule("neg-to-cos", "A test.", "%y = neg(%x)", lambda b, m: b.cos(m.x)),
        Rule("sin-of-sin", "A test.", "%a = sin(%x)\n%y = sin(%a)", lambda b, m: b.abs(m.x)),
    ]
    assert apply_rules(graph, rules, checked=True).counts == {"neg-to-sin": 2, "sin-of-sin": 1}


def test_a_const_takes_the_root_s_name() -> None:
    graph = graph_of(CHAIN)
    zeros = rule("%y = relu(%x)", lambda b, _: b.const(np.zeros(3, np.float32)))
    apply_rules(graph, [zeros], checked=True)
    assert graph.outputs[0].name == "z"
