"""Before and after form-kernels, for each kind of kernel and of view, and for what is returned."""

from __future__ import annotations

import pytest

from dlrmc.ir.graph import Graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.verify import verify
from dlrmc.passes.form_kernels import absorbs, form_kernels
from dlrmc.schedule.build import build_plan
from tests.passes.feeds import assert_same_meaning
from tests.passes.rule_case import graph_of


def count(graph: Graph) -> int:
    return sum(node.is_op("kernel") for node in graph.nodes)


def formed(before: str) -> Graph:
    """The graph after the pass, checked: verified, the same meaning, a plan, and nothing left to do."""
    old, graph = graph_of(before), graph_of(before)
    kernels = form_kernels(graph)
    verify(graph)
    assert kernels == count(graph) - count(old)
    assert_same_meaning(old, graph)
    build_plan(graph)
    text = print_graph(graph)
    assert form_kernels(graph) == 0
    assert print_graph(graph) == text
    return graph


def check(before: str, after: str) -> None:
    assert print_graph(formed(before)) == print_graph(graph_of(after))


def kernels(graph: Graph) -> list[str]:
    """Each kernel as `impl: ops of its body`."""
    return [
        f"{node.attributes.str('impl')}: "
        + " ".join(inner.op.name for inner in node.body.nodes if not inner.is_op("input"))
        for node in graph.nodes
        if node.is_op("kernel")
    ]


# -- anchors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "kernel"),
    [
        ("%v = linear(%x, %w) : f32[4,6]", "linear: linear"),
        ("%v = mm(%x, %w) : f32[4,6]", "bmm: mm"),
        ("%v = bmm(%cube, %cube) {trans_b=true} : f32[4,2,2]", "bmm: bmm"),
        ("%v = embedding_bag(%t, %i, %off) : f32[4,3]", "embedding_bag: embedding_bag"),
        (
            "%v = embedding_bag_group([%t, %t], [%i, %i], [%off, %off], [_, _]) : f32[4,2,3]",
            "embedding_bag: embedding_bag_group",
        ),
        (
            "%v = quantized_embedding_bag_group([%q, %q], [%i, %i], [%off, %off], []) : f32[4,2,3]",
            "quantized_bag: quantized_embedding_bag_group",
        ),
        ("%v = pairwise_dot(%cube) : f32[4,1]", "pairwise_dot: pairwise_dot"),
        ("%v = relu(%x) : f32[4,6]", "map: relu"),
        ("%v = sum(%x) {dims=[1]} : f32[4]", "map: sum"),
        ("%v = softmax(%x) {dim=1} : f32[4,6]", "map: softmax"),
        ("%v = embedding(%t, %i) : f32[7,3]", "map: embedding"),
        ("%v = cat(%x, %x) {dim=1} : f32[4,12]", "map: cat"),
        ("%v = view(%x) {shape=[24]} : f32[24]", "map: view"),
    ],
)
def test_the_implementation_of_each_op(statement: str, kernel: str):
    leaves = """
        input %x : f32[4,6]
        input %cube : f32[4,2,3]
        input %i : i64[7]
        input %off : i64[4]
        weight %w : f32[6,6] = "w"
        weight %t : f32[9,3] = "t"
        weight %q : u8[9,11] = "q"
    """
    assert kernels(formed(f"{leaves}{statement}\nreturn %v")) == [kernel]


def test_a_kernel_takes_the_place_and_the_name_of_its_op():
    check(
        """
        input %x : f32[4,3]
        weight %w : f32[5,3] = "w"
        weight %b : f32[5] = "b"
        %y = linear(%x, %w, %b) {act=relu} : f32[4,5]
        return %y
        """,
        """
        input %x : f32[4,3]
        weight %w : f32[5,3] = "w"
        weight %b : f32[5] = "b"
        %y = kernel linear(%x, %w, %b) {
          %y = linear(%x, %w, %b) {act=relu} : f32[4,5]
          yield %y
        } : f32[4,5]
        return %y
        """,
    )


def test_views_on_the_operands_of_an_anchor_are_absorbed():
    check(
        """
        input %x : f32[4,2,3]
        weight %w : f32[5,12] = "w"
        %flat = view(%x) {shape=[4,6]} : f32[4,6]
        %right = slice(%w) {dim=1, start=6, stop=12} : f32[5,6]
        %y = linear(%flat, %right) : f32[4,5]
        return %y
        """,
        """
        input %x : f32[4,2,3]
        weight %w : f32[5,12] = "w"
        %y = kernel linear(%x, %w) {
          %flat = view(%x) {shape=[4,6]} : f32[4,6]
          %right = slice(%w) {dim=1, start=6, stop=12} : f32[5,6]
          %y = linear(%flat, %right) : f32[4,5]
          yield %y
        } : f32[4,5]
        return %y
        """,
    )


def test_views_on_the_result_of_an_anchor_are_its_own():
    graph = formed("""
        input %x : f32[4,6]
        weight %w : f32[6,6] = "w"
        %y = linear(%x, %w) : f32[4,6]
        %v = view(%y) {shape=[4,2,3]} : f32[4,2,3]
        return %v
    """)
    assert kernels(graph) == ["linear: linear view"]
    assert graph.outputs[0].name == "v"


def test_a_view_on_an_anchor_that_others_read_is_a_copy():
    graph = formed("""
        input %x : f32[4,6]
        weight %w : f32[6,6] = "w"
        %y = linear(%x, %w) : f32[4,6]
        %v = view(%y) {shape=[4,2,3]} : f32[4,2,3]
        return %v, %y
    """)
    assert kernels(graph) == ["linear: linear", "map: view"]


def test_a_view_that_strides_cannot_show_is_copied_before_the_anchor():
    graph = formed("""
        input %x : f32[4,2,3]
        weight %w : f32[5,6] = "w"
        %p = permute(%x) {perm=[0,2,1]} : f32[4,3,2]
        %flat = view(%p) {shape=[4,6]} : f32[4,6]
        %y = linear(%flat, %w) : f32[4,5]
        return %y
    """)
    assert kernels(graph) == ["map: permute view", "linear: linear"]


def test_a_part_whose_rows_do_not_nest_is_copied_before_a_linear_only():
    body = """
        input %x : f32[4,8,3]
        weight %w : f32[5,3] = "w"
        %p = slice(%x) {{dim=1, start=0, stop=2}} : f32[4,2,3]
        {}
        return %y
    """
    linear = formed(body.format("%y = linear(%p, %w) : f32[4,2,5]"))
    assert kernels(linear) == ["map: slice", "linear: linear"]
    dots = formed(body.format("%y = pairwise_dot(%p) : f32[4,1]"))
    assert kernels(dots) == ["pairwise_dot: slice pairwise_dot"]


def test_what_each_kernel_reads_through():
    graph = graph_of("""
        input %x : f32[4,8,3]
        weight %w : f32[5,3] = "w"
        %nest = slice(%x) {dim=2, start=0, stop=3} : f32[4,8,3]
        %apart = slice(%x) {dim=1, start=0, stop=2} : f32[4,2,3]
        %p = permute(%x) {perm=[0,2,1]} : f32[4,3,8]
        %cut = view(%p) {shape=[4,24]} : f32[4,24]
        %l = linear(%nest, %w) : f32[4,8,5]
        %m = linear(%apart, %w) : f32[4,2,5]
        %b = bmm(%apart, %apart) {trans_b=true} : f32[4,2,2]
        %d = pairwise_dot(%cut) : f32[4,0]
        %r = relu(%cut) : f32[4,24]
        return
    """)
    pairs = [("l", "nest"), ("m", "apart"), ("b", "apart"), ("d", "cut"), ("r", "cut")]
    answers = [absorbs(graph.find(user), graph.find(operand)) for user, operand in pairs]
    assert answers == [True, False, True, False, True]


# -- mapped ops ----------------------------------------------------------------------------------------------


def test_a_chain_of_elementwise_ops_is_one_kernel():
    check(
        """
        input %x : f32[4,3]
        input %b : f32[3]
        const %two : f32[] = 2.0
        %a = relu(%x) : f32[4,3]
        %c = add(%a, %b) : f32[4,3]
        %d = mul(%c, %two) : f32[4,3]
        return %d
        """,
        """
        input %x : f32[4,3]
        input %b : f32[3]
        %d = kernel map(%x, %b) {
          %a = relu(%x) : f32[4,3]
          %c = add(%a, %b) : f32[4,3]
          const %two : f32[] = 2.0
          %d = mul(%c, %two) : f32[4,3]
          yield %d
        } : f32[4,3]
        return %d
        """,
    )


def test_a_value_that_two_kernels_read_is_computed_once():
    graph = formed("""
        input %x : f32[4,3]
        %a = exp(%x) : f32[4,3]
        %b = neg(%a) : f32[4,3]
        %c = sum(%a) {dims=[0,1]} : f32[]
        return %b, %c
    """)
    assert kernels(graph) == ["map: exp", "map: neg", "map: sum"]


def test_a_value_that_one_kernel_reads_twice_is_computed_in_it():
    graph = formed("""
        input %x : f32[4,3]
        %a = exp(%x) : f32[4,3]
        %b = neg(%a) : f32[4,3]
        %c = mul(%a, %b) : f32[4,3]
        return %c
    """)
    assert kernels(graph) == ["map: exp neg mul"]


def test_a_returned_value_is_not_computed_in_place():
    graph = formed("""
        input %x : f32[4,3]
        %a = relu(%x) : f32[4,3]
        %b = neg(%a) : f32[4,3]
        return %a, %b
    """)
    assert kernels(graph) == ["map: relu", "map: neg"]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        # As many elements as the root: each is reduced once.
        (
            "%s = sum(%x) {dims=[1]} : f32[4]\n%v = relu(%s) : f32[4]",
            ["map: sum relu"],
        ),
        # A reduction that every element of the root would repeat.
        (
            "%s = sum(%x) {dims=[1], keepdim=true} : f32[4,1]\n%v = sub(%x, %s) : f32[4,3]",
            ["map: sum", "map: sub"],
        ),
        # An op along rows would be repeated for each element of a row.
        ("%s = softmax(%x) {dim=1} : f32[4,3]\n%v = neg(%s) : f32[4,3]", ["map: softmax", "map: neg"]),
        ("%s = relu(%x) : f32[4,3]\n%v = softmax(%s) {dim=1} : f32[4,3]", ["map: relu softmax"]),
        # An anchor is always a kernel of its own.
        ("%s = mm(%x, %w) : f32[4,3]\n%v = neg(%s) : f32[4,3]", ["bmm: mm", "map: neg"]),
    ],
)
def test_what_is_computed_in_place(statements: str, expected: list[str]):
    leaves = 'input %x : f32[4,3]\nweight %w : f32[3,3] = "w"\n'
    assert kernels(formed(f"{leaves}{statements}\nreturn %v")) == expected


def test_views_between_mapped_ops_cost_nothing():
    graph = formed("""
        input %x : f32[4,6]
        %a = relu(%x) : f32[4,6]
        %v = view(%a) {shape=[4,2,3]} : f32[4,2,3]
        %p = permute(%v) {perm=[0,2,1]} : f32[4,3,2]
        %b = neg(%p) : f32[4,3,2]
        return %b
    """)
    assert kernels(graph) == ["map: relu view permute neg"]


def test_a_view_that_two_kernels_read_is_in_both():
    graph = formed("""
        input %x : f32[4,6]
        %v = view(%x) {shape=[4,2,3]} : f32[4,2,3]
        %a = relu(%v) : f32[4,2,3]
        %b = sum(%v) {dims=[0,1,2]} : f32[]
        return %a, %b
    """)
    assert kernels(graph) == ["map: view relu", "map: view sum"]


def test_small_constants_stand_in_the_body_and_large_ones_are_operands():
    numbers = ",".join(["1"] * 4097)
    graph = formed(f"""
        input %x : f32[4,3]
        const %col : i64[2] = [1,0]
        const %row : i64[4097] = [{numbers}]
        %a = index(%x, _, %col) : f32[4,2]
        %b = index_select(%a, %row) {{dim=0}} : f32[4097,2]
        return %b
    """)
    (kernel,) = [node for node in graph.nodes if node.is_op("kernel")]
    assert [node.name for node in kernel.inputs] == ["x", "row"]
    assert kernel.body.find("col").is_op("const")


# -- what is returned ----------------------------------------------------------------------------------------


def test_a_returned_input_weight_constant_or_derived_value_is_copied():
    check(
        """
        input %x : f32[2]
        weight %w : f32[2] = "w"
        const %c : f32[] = 1.0
        %d = derive(%w) {
          %n = neg(%w) : f32[2]
          yield %n
        } : f32[2]
        return %x, %w, %c, %d
        """,
        """
        input %x : f32[2]
        weight %w : f32[2] = "w"
        %d = derive(%w) {
          %n = neg(%w) : f32[2]
          yield %n
        } : f32[2]
        %x_copy = kernel map(%x) {
          yield %x
        } : f32[2]
        %w_copy = kernel map(%w) {
          yield %w
        } : f32[2]
        %c_copy = kernel map() {
          const %c : f32[] = 1.0
          yield %c
        } : f32[]
        %d_copy = kernel map(%d) {
          yield %d
        } : f32[2]
        return %x_copy, %w_copy, %c_copy, %d_copy
        """,
    )


def test_what_is_returned_twice_is_copied_once():
    check(
        """
        input %x : f32[2]
        %y = relu(%x) : f32[2]
        return %y, %y
        """,
        """
        input %x : f32[2]
        %y = kernel map(%x) {
          %y = relu(%x) : f32[2]
          yield %y
        } : f32[2]
        %y_copy = kernel map(%y) {
          yield %y
        } : f32[2]
        return %y, %y_copy
        """,
    )


def test_a_returned_view_of_an_input_is_a_copy_and_the_value_below_is_read_once():
    graph = formed("""
        input %x : f32[4,3]
        %t = permute(%x) {perm=[1,0]} : f32[3,4]
        %v = view(%t) {shape=[12]} : f32[12]
        return %v, %t
    """)
    assert [node.name for node in graph.outputs] == ["v", "t"]
    assert all(node.is_op("kernel") for node in graph.outputs)


# -- what other passes leave ---------------------------------------------------------------------------------


def test_an_assemble_stays_and_its_parts_are_kernels():
    graph = formed("""
        input %x : f32[4,3]
        weight %w : f32[5,3] = "w"
        %p = linear(%x, %w) : f32[4,5]
        %q = pairwise_dot(%x, %x) : f32[4,1]
        %all = assemble(%p, %q) {dim=1} : f32[4,6]
        %v = view(%all) {shape=[24]} : f32[24]
        %r = relu(%v) : f32[24]
        return %r
    """)
    assert kernels(graph) == ["linear: linear", "pairwise_dot: pairwise_dot", "map: view relu"]
    assert [node.name for node in graph.find("all").inputs] == ["p", "q"]


def test_row_programs_and_their_items_stay():
    graph = formed("""
        input %x : f32[4,3]
        %k = kernel row_program<batch=4>(%x) {
          %a = relu(%x) : f32[4,3]
          %b = neg(%a) : f32[4,3]
          yield %a, %b
        } : (f32[4,3], f32[4,3])
        %one = item(%k) {index=1} : f32[4,3]
        %v = view(%one) {shape=[12]} : f32[12]
        %s = sum(%v) {dims=[0]} : f32[]
        return %s
    """)
    assert kernels(graph) == ["row_program: relu neg", "map: view sum"]


def test_a_view_that_a_row_program_reads_is_made_for_it():
    graph = formed("""
        input %x : f32[4,3]
        %t = permute(%x) {perm=[1,0]} : f32[3,4]
        %k = kernel row_program<batch=3>(%t) {
          %a = relu(%t) : f32[3,4]
          yield %a
        } : f32[3,4]
        return %k
    """)
    assert kernels(graph) == ["map: permute", "row_program: relu"]


def test_what_nothing_reads_is_gone_but_inputs_are_not():
    graph = formed("""
        input %x : f32[4,3]
        input %unused : f32[1]
        weight %w : f32[3] = "w"
        %dead = relu(%x) : f32[4,3]
        %y = neg(%x) : f32[4,3]
        return %y
    """)
    assert [node.name for node in graph.nodes] == ["x", "unused", "y"]


def test_a_constant_part_of_a_linear_is_read_from_memory() -> None:
    """Its kernel reads windows onto operands, and a body's constants have no address."""
    graph = formed(
        """
        input %x : f32[4,3]
        weight %w : f32[6,5] = "w"
        const %c : f32[4,2] = [1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0]
        %v = linear([%x, %c], %w) : f32[4,6]
        return %v
        """
    )
    [kernel] = [node for node in graph.nodes if node.is_op("kernel")]
    assert [operand.op.name for operand in kernel.inputs] == ["input", "const", "weight"]
    assert not any(inner.is_op("const") for inner in kernel.body.nodes)


def test_a_linear_reads_one_constant_many_times() -> None:
    graph = formed(
        """
        input %x : f32[4,3]
        weight %w : f32[6,5] = "w"
        const %c : f32[1,1] = [2.0]
        %e = expand(%c) {shape=[4,2]} : f32[4,2]
        %v = linear([%x, %e], %w) : f32[4,6]
        return %v
        """
    )
    assert kernels(graph) == ["linear: expand linear"]
