from __future__ import annotations

import pytest

from dlrmc.errors import PassError, VerifyError
from dlrmc.ir.graph import Graph
from dlrmc.ir.printer import print_graph
from dlrmc.passes import cse, dce
from dlrmc.passes.driver import Stage, find_passes, run, run_pass
from dlrmc.passes.pass_types import Pass, PassResult
from tests.passes.rule_case import graph_of

BODY = """input %x : f32[3]
          %a = relu(%x) : f32[3]
          %b = relu(%x) : f32[3]
          %c = neg(%x) : f32[3]
          %y = add(%a, %b) : f32[3]
          return %y"""
DCE = Pass("dce", "Test.", dce.run)
CSE = Pass("cse", "Test.", cse.run)


def test_stages_say_what_each_pass_did() -> None:
    graph = graph_of(BODY)
    seen: list[tuple[str, str]] = []

    def on_stage(stage: Stage, shown: Graph) -> None:
        seen.append((stage.name, print_graph(shown)))

    stages = run(graph, (CSE, DCE, DCE), on_stage=on_stage)
    assert [stage.summary for stage in stages] == [
        "cse: 1 change (merged 1)",
        "dce: 1 change (erased 1)",
        "dce: unchanged",
    ]
    assert [name for name, _ in seen] == ["cse", "dce", "dce"]
    assert ["%b" in text for _, text in seen] == [False, False, False]
    assert ["%c" in text for _, text in seen] == [True, False, False]
    assert seen[-1][1] == print_graph(graph)
    assert all(stage.time_us > 0 for stage in stages)


def test_a_pass_that_breaks_the_graph_is_named() -> None:
    def break_type(graph: Graph) -> PassResult:
        object.__setattr__(graph.find("y"), "result_type", graph.find("x").type.with_shape((1, 3)))
        return PassResult(1)

    with pytest.raises(VerifyError, match="graph @case after pass broken: V7"):
        run(graph_of(BODY), (Pass("broken", "Test.", break_type),))


def test_a_pass_that_builds_nonsense_is_named() -> None:
    def build(graph: Graph) -> PassResult:
        graph.add("view", (graph.find("x"),), {"shape": (4,)})
        return PassResult(1)

    with pytest.raises(PassError, match="pass views: view: shape"):
        run_pass(graph_of(BODY), Pass("views", "Test.", build))


def test_a_stage_has_only_the_ops_that_it_may_have() -> None:
    nothing = Pass("form-kernels", "Test.", lambda _: PassResult(0))
    with pytest.raises(PassError) as caught:
        run(graph_of(BODY), (nothing,))
    assert caught.value.place == "pass form-kernels"
    assert caught.value.found == "%a is still a relu"
    ops = "input, weight, const, derive, kernel, item, assemble, view, permute, expand, slice, select"
    assert caught.value.expected == f"only {ops}"


def test_passes_are_found_by_name() -> None:
    assert find_passes(["cse", "dce", "cse"], (DCE, CSE)) == (CSE, DCE, CSE)
    with pytest.raises(PassError) as caught:
        find_passes(["cee"], (DCE, CSE))
    assert caught.value.place == "pass 'cee'"
    assert caught.value.expected == "one of dce, cse"
    assert caught.value.hint == "did you mean dce?"


def test_counts_of_zero_are_left_out() -> None:
    assert PassResult.of({"a": 2, "b": 0, "c": 1}) == PassResult(3, {"a": 2, "c": 1})
