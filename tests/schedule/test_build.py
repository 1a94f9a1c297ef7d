from __future__ import annotations

import pytest

from dlrmc.errors import PassError
from dlrmc.ir.parser import parse_graph
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.plan import BufferRef, Slot

TEXT = """graph @g {
  input %x : f32[4,3]
  input %unused : i64[7]
  weight %w : f32[5,3] = "w"
  weight %unread : f32[1] = "unread"
  %d = derive(%w) {
    %n = neg(%w) : f32[5,3]
    yield %n
  } : f32[5,3]
  %a = kernel linear(%x, %d) {
    %a = linear(%x, %d) : f32[4,5]
    yield %a
  } : f32[4,5]
  %b = kernel linear(%x, %w) {
    %b = linear(%x, %w) : f32[4,5]
    yield %b
  } : f32[4,5]
  %c = kernel map(%b, %a) {
    %c = sub(%b, %a) : f32[4,5]
    yield %c
  } : f32[4,5]
  return %c, %b
}
"""


def test_the_plan_of_a_graph():
    graph = parse_graph(TEXT)
    plan = build_plan(graph)
    assert [launch.kernel.name for launch in plan.launches] == ["a", "b", "c"]
    assert plan.inputs == (Slot("x", graph.find("x").type), Slot("unused", graph.find("unused").type))
    assert plan.outputs == (Slot("c", graph.find("c").type), Slot("b", graph.find("b").type))
    # Weights that only a derive reads live on the device before, those that nothing reads never.
    assert plan.residents == (graph.find("d"), graph.find("w"))
    assert plan.arena_bytes == 256


def test_the_arguments_of_each_launch():
    first, second, third = build_plan(parse_graph(TEXT)).launches
    assert first.operands == (BufferRef("input", 0), BufferRef("resident", 0))
    assert first.results == (BufferRef("arena", 0),)
    assert second.operands == (BufferRef("input", 0), BufferRef("resident", 1))
    assert second.results == (BufferRef("output", 1),)
    assert third.operands == (BufferRef("output", 1), BufferRef("arena", 0))
    assert third.results == (BufferRef("output", 0),)
    assert third.operand_strides == ((5, 1), (5, 1))
    assert third.result_strides == ((5, 1),)


def test_a_kernel_that_computes_nothing_is_not_launched():
    graph = parse_graph("""graph @g {
  input %x : f32[0,3]
  input %y : f32[2]
  weight %w : f32[5,3] = "w"
  %a = kernel linear(%x, %w) {
    %a = linear(%x, %w) : f32[0,5]
    yield %a
  } : f32[0,5]
  %s = kernel map(%a, %y) {
    %s = sum(%a) {dims=[0,1]} : f32[]
    %t = add(%s, %y) : f32[2]
    yield %t
  } : f32[2]
  return %a, %s
}
""")
    plan = build_plan(graph)
    assert [launch.kernel.name for launch in plan.launches] == ["s"]
    assert plan.residents == ()
    assert plan.launches[0].operands == (BufferRef("output", 0), BufferRef("input", 1))


def test_an_op_outside_of_a_kernel_is_refused():
    graph = parse_graph("graph @g { input %x : f32[2] %y = relu(%x) : f32[2] return %y }")
    with pytest.raises(PassError) as error:
        build_plan(graph)
    assert str(error.value) == (
        "planning @g: %y = relu outside of a kernel\n"
        "  expected: kernels only\n"
        "  to mend: run form-kernels first"
    )


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        ("%y, %x", "output %x, the input"),
        ("%w", "output %w, the weight"),
        ("%c", "output %c, the const"),
        ("%y, %y", "output %y, returned twice"),
    ],
)
def test_an_output_without_a_buffer_of_its_own_is_refused(outputs: str, found: str):
    graph = parse_graph(f"""graph @g {{
  input %x : f32[2]
  weight %w : f32[2] = "w"
  const %c : f32[] = 1.0
  %y = kernel map(%x) {{
    %y = relu(%x) : f32[2]
    yield %y
  }} : f32[2]
  return {outputs}
}}""")
    with pytest.raises(PassError) as error:
        build_plan(graph)
    assert error.value.found == found
    assert error.value.expected == "a buffer that a kernel writes for each output"
