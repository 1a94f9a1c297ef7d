from __future__ import annotations

from dlrmc.ir.printer import print_graph
from dlrmc.passes import dce
from tests.passes.rule_case import graph_of


def test_dead_values_go_and_inputs_stay_in_their_place() -> None:
    graph = graph_of("""input %unused : f32[2]
                        input %x : f32[2]
                        input %unused_too : i64[]
                        weight %w : f32[2] = "w"
                        const %c : f32[] = 1.0
                        %dead = add(%x, %w) : f32[2]
                        %deader = add(%dead, %c) : f32[2]
                        %y = relu(%x) : f32[2]
                        return %y""")
    assert dce.run(graph).counts == {"erased": 4}
    assert print_graph(graph) == print_graph(
        graph_of("""input %unused : f32[2]
                    input %x : f32[2]
                    input %unused_too : i64[]
                    %y = relu(%x) : f32[2]
                    return %y""")
    )
    assert dce.run(graph).changes == 0


def test_an_output_that_is_an_input_a_weight_or_a_const_stays() -> None:
    graph = graph_of("""input %x : f32[2]
                        weight %w : f32[2] = "w"
                        const %c : f32[] = 1.0
                        return %x, %w, %c, %x""")
    assert dce.run(graph).changes == 0
