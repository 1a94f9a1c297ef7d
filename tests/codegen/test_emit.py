"""The module: names, order, the head of the text, what is included, what is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest

from dlrmc.codegen.emit import emit_module, is_indirect, kernel_names
from dlrmc.codegen.kernels.registry import ALL_KERNEL_IMPLS, find_kernel_impl
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.limits import DeviceLimits
from dlrmc.schedule.plan import BufferRef
from tests.codegen.kernel_cases import Case, body_of, emit_cases, plan_of

LIMITS = DeviceLimits()

PROGRAM = """\
graph @two {
  input %x : f32[4,3]
  weight %w : f32[3] = "w"
  %first = kernel map(%x, %w) {
    %sum = add(%x, %w) : f32[4,3]
    %first = relu(%sum) : f32[4,3]
    yield %first
  } : f32[4,3]
  %second = kernel map(%first) {
    %second = view(%first) {shape=[12]} : f32[12]
    yield %second
  } : f32[12]
  return %second
}
"""


def unary(op: str, shape: str = "f32[4]") -> Case:
    return Case(body_of(lambda g, a: g.add(op, (a,)), shape), {})


def emit_program(text: str = PROGRAM):
    graph = parse_graph(text)
    return emit_module(build_plan(graph), LIMITS, graph)


def test_kernels_are_named_after_what_they_compute():
    def long(g, a):
        for _ in range(20):
            a = g.add("sigmoid", (a,))
        return a

    cases = [unary("relu"), unary("exp"), unary("relu"), Case(body_of(long, "f32[4]"), {})]
    names = kernel_names(plan_of(cases).launches)
    assert names[:3] == ("dlrmc_relu_1", "dlrmc_exp_1", "dlrmc_relu_2")
    assert names[3].startswith("dlrmc_sigmoid_sigmoid_")
    assert len(names[3]) < 64


def test_an_activation_in_an_epilogue_is_in_the_name():
    def linear(g, x, w, b):
        return g.add("linear", ((x,), w, b), {"act": "relu"})

    launches = plan_of([Case(body_of(linear, "f32[2,3]", "f32[4,3]", "f32[4]"), {}, impl="linear")]).launches
    assert kernel_names(launches) == ("dlrmc_linear_relu_1",)


def test_kernels_stand_in_the_order_of_the_launches():
    source = emit_program()
    assert [kernel.name for kernel in source.kernels] == ["dlrmc_add_relu_1", "dlrmc_copy_1"]
    positions = [source.text.index(f" {kernel.name}(") for kernel in source.kernels]
    assert positions == sorted(positions)
    assert all(kernel.text in source.text for kernel in source.kernels)


def test_the_text_opens_with_what_it_is_and_the_whole_program():
    head = emit_program().text.splitlines()
    assert head[0] == "// Emitted by dlrmc: 2 kernels for one request."
    assert "// input x : f32[4,3]" in head
    assert "// output second : f32[12]" in head
    assert "// dlrmc_add_relu_1<<<1, 32, 0>>>" in head
    start = head.index("// graph @two {")
    assert [line.removeprefix("// ") for line in head[start : start + len(PROGRAM.splitlines())]] == (
        PROGRAM.splitlines()
    )


def test_a_kernel_opens_with_the_ir_it_implements():
    (kernel, _) = emit_program().kernels
    assert kernel.text.startswith("// %first = kernel map(%x, %w) {\n//   %sum = add(%x, %w) : f32[4,3]\n")


def test_the_text_includes_nothing_and_holds_each_file_once():
    text = emit_program().text
    assert not re.search(r"^\s*#\s*include", text, re.MULTILINE)
    assert text.count("struct f16 {") == 1
    assert "{{" not in text


def test_inputs_and_outputs_are_reached_through_slots_and_the_rest_is_not():
    first, second = emit_program().kernels
    assert [(p.name, p.indirect) for p in first.params] == [
        ("x_in", True),
        ("w_in", False),
        ("first_out", False),
    ]
    assert [(p.name, p.indirect) for p in second.params] == [("first_in", False), ("second_out", True)]
    assert "const float* const* __restrict__ x_in_slot" in first.text
    assert "const float* const __restrict__ x_in = *x_in_slot;" in first.text
    assert not is_indirect(BufferRef("resident", 0))


def test_a_kernel_of_an_empty_result_is_not_launched():
    graph = parse_graph(PROGRAM.replace("4,3", "0,3").replace("12", "0"))
    assert build_plan(graph).launches == ()
    source = emit_module(build_plan(graph), LIMITS, graph)
    assert source.kernels == ()
    assert "__global__" not in source.text


def test_results_of_one_value_have_names_of_their_own():
    source = emit_cases([Case(body_of(lambda g, a: (a, a), "f32[4]"), {})])
    assert [param.name for param in source.kernels[0].params] == ["a_in", "a_out", "a_out_2"]


def test_sites_are_numbered_across_kernels():
    def lookup(g, table, ids):
        return g.add("embedding", (table, ids))

    case = Case(body_of(lookup, "f32[4,3]", "i64[2]"), {})
    kernels = emit_cases([case, unary("relu"), case]).kernels
    assert [len(kernel.sites) for kernel in kernels] == [1, 0, 1]
    assert "record_fault(faults, 0, " in kernels[0].text
    assert "record_fault(faults, 1, " in kernels[2].text


def test_the_same_plan_gives_the_same_text():
    assert emit_program().text == emit_program().text


def test_an_unknown_implementation_is_named_with_the_nearest():
    with pytest.raises(CodegenError, match=r"unknown implementation 'mapp'") as caught:
        find_kernel_impl("mapp")
    assert "did you mean map?" in str(caught.value)


def test_implementations_are_found_by_their_names():
    assert [find_kernel_impl(impl.name) for impl in ALL_KERNEL_IMPLS] == list(ALL_KERNEL_IMPLS)


def test_a_block_has_no_more_threads_than_the_device_allows():
    case = replace(unary("relu", "f32[4096]"), attributes={"threads": 2048})
    assert emit_cases([case]).kernels[0].block == LIMITS.threads_per_block


def test_large_constants_are_operands_and_small_ones_stand_in_the_text():
    def scaled(g: Graph, a):
        return g.add("mul", (a, g.const("c", np.array([1.5, 2.5, 3.5, 4.5], np.float32))))

    text = emit_cases([Case(body_of(scaled, "f32[4]"), {})]).kernels[0].text
    assert "static __device__ const float dlrmc_mul_1_c[4] = {\n    1.5f, 2.5f, 3.5f, 4.5f,\n};" in text
    assert "dlrmc_mul_1_c[i]" in text


def test_kernels_wait_for_each_other_themselves_where_there_are_several():
    source = emit_program()
    assert [kernel.is_chained for kernel in source.kernels] == [True, True]
    assert all(") {\n    wait_for_kernel_before();\n" in kernel.text for kernel in source.kernels)
    assert source.text.count("void wait_for_kernel_before() {") == 1
    (alone,) = emit_cases([unary("relu")]).kernels
    assert not alone.is_chained
    assert "wait_for_kernel_before" not in alone.text
