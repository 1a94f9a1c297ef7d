"""What an epilogue of a linear layer takes in, in form-kernels and in fuse-rows, and what it leaves."""

from __future__ import annotations

import pytest

from dlrmc.ir.graph import Graph
from dlrmc.ir.strided import Strided
from dlrmc.ir.verify import verify
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.passes.fuse_rows import fuse_rows
from dlrmc.passes.product_epilogues import broadcast_to, find_epilogue
from dlrmc.schedule.build import build_plan
from tests.passes.feeds import assert_same_meaning
from tests.passes.rule_case import graph_of

LEAVES = """
    input %x : f32[4,6]
    input %h : f32[4,5]
    input %g : f32[4,5]
    input %column : f32[4,1]
    input %wide : f32[4,9]
    input %cube : f32[2,2,6]
    input %mask : bool[4,5]
    weight %w : f32[5,6] = "w"
    weight %b : f32[5] = "b"
    weight %square : f32[6,5] = "square"
    const %two : f32[] = 2.0
    %y = linear(%x, %w, %b) : f32[4,5]
"""


def kernels(graph: Graph) -> list[str]:
    """Each kernel as `impl: ops of its body but views and constants`."""
    quiet = ("input", "const", "view", "slice")
    return [
        f"{node.attributes.str('impl')}: "
        + " ".join(inner.op.name for inner in node.body.nodes if not inner.is_op(*quiet))
        for node in graph.nodes
        if node.is_op("kernel")
    ]


def formed(tail: str, leaves: str = LEAVES) -> list[str]:
    """The kernels of the graph, which means the same afterwards and can be planned."""
    old, graph = graph_of(leaves + tail), graph_of(leaves + tail)
    form_kernels(graph)
    verify(graph)
    assert_same_meaning(old, graph)
    build_plan(graph)
    return kernels(graph)


ABSORBED = {
    "a cross layer": (
        """%m = mul(%h, %y) : f32[4,5]
           %v = add(%m, %g) : f32[4,5]
           return %v""",
        "linear mul add",
    ),
    "a residual": ("%v = add(%h, %y) : f32[4,5]\nreturn %v", "linear add"),
    "a gate computed of an operand": (
        """%s = sigmoid(%h) : f32[4,5]
           %v = mul(%s, %y) : f32[4,5]
           return %v""",
        "linear sigmoid mul",
    ),
    "two readers that meet": (
        """%s = sigmoid(%y) : f32[4,5]
           %v = mul(%y, %s) : f32[4,5]
           return %v""",
        "linear sigmoid mul",
    ),
    "a row and a column": (
        """%m = mul(%y, %column) : f32[4,5]
           %v = sub(%m, %b) : f32[4,5]
           return %v""",
        "linear mul sub",
    ),
    "a scalar": ("%v = mul(%y, %two) : f32[4,5]\nreturn %v", "linear mul"),
    "columns of a wider value": (
        """%s = slice(%wide) {dim=1, start=3, stop=8} : f32[4,5]
           %v = mul(%y, %s) : f32[4,5]
           return %v""",
        "linear mul",
    ),
    "a result in another shape": (
        """%a = add(%y, %h) : f32[4,5]
           %v = view(%a) {shape=[20]} : f32[20]
           return %v""",
        "linear add",
    ),
}


@pytest.mark.parametrize("name", ABSORBED)
def test_absorbed(name: str) -> None:
    tail, ops = ABSORBED[name]
    assert formed(tail) == [f"linear: {ops}"]


LEFT = {
    "a product that is returned": (
        "%v = add(%h, %y) : f32[4,5]\nreturn %v, %y",
        ["linear: linear", "map: add"],
    ),
    "a product with another reader": (
        """%v = add(%h, %y) : f32[4,5]
           %s = sum(%y) {dims=[1]} : f32[4]
           return %v, %s""",
        ["linear: linear", "map: add", "map: sum"],
    ),
    "a value in the midst that is returned": (
        """%m = mul(%h, %y) : f32[4,5]
           %v = add(%m, %g) : f32[4,5]
           return %v, %m""",
        ["linear: linear mul", "map: add"],
    ),
    "a result that is wider than the product": (
        """%t = linear(%x, %one) : f32[4,1]
           %v = add(%h, %t) : f32[4,5]
           return %v""",
        ["linear: linear", "map: add"],
    ),
    "an operand of another type": (
        "%v = where(%mask, %y, %h) : f32[4,5]\nreturn %v",
        ["linear: linear", "map: where"],
    ),
    "a result of another type": (
        "%v = cast(%y) {to=f64} : f64[4,5]\nreturn %v",
        ["linear: linear", "map: cast"],
    ),
    "a bias of one number, which is a constant": (
        """const %c : f32[1] = [2.0]
           %t = linear(%x, %one, %c) : f32[4,1]
           %v = mul(%t, %column) : f32[4,1]
           return %v""",
        ["linear: linear", "map: mul"],
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_left(name: str) -> None:
    tail, wanted = LEFT[name]
    leaves = LEAVES + ('weight %one : f32[1,6] = "one"\n' if "%one" in tail else "")
    assert formed(tail, leaves) == wanted


def test_of_two_layers_the_last_is_the_product() -> None:
    tail = """
        %z = linear(%x, %w) {act=sigmoid} : f32[4,5]
        %v = mul(%y, %z) : f32[4,5]
        return %v
    """
    assert formed(tail) == ["linear: linear", "linear: linear mul"]


def test_no_more_operands_than_a_lane_can_hold() -> None:
    others = "".join(f"input %o{i} : f32[4,5]\n" for i in range(5))
    sums = ["%v0 = add(%y, %o0) : f32[4,5]"]
    sums += [f"%v{i} = add(%v{i - 1}, %o{i}) : f32[4,5]" for i in range(1, 5)]
    four, five = ("\n".join([*sums[:count], f"return %v{count - 1}"]) for count in (4, 5))
    assert formed(four, others + LEAVES) == ["linear: linear add add add add"]
    assert formed(five, others + LEAVES) == ["linear: linear", "map: add add add add add"]


def test_rows_of_an_operand_that_do_not_nest_are_not_read() -> None:
    leaves = """
        input %cube : f32[2,3,6]
        input %each : f32[2,1,5]
        weight %w : f32[5,6] = "w"
        %y = linear(%cube, %w) : f32[2,3,5]
    """
    tail = "%v = mul(%y, %each) : f32[2,3,5]\nreturn %v"
    assert formed(tail, leaves) == ["linear: linear", "map: mul"]


def test_what_is_no_elementwise_op_has_no_epilogue() -> None:
    graph = graph_of(LEAVES + "%s = sum(%y) {dims=[1]} : f32[4]\nreturn %s")
    assert all(find_epilogue(graph, node) is None for node in graph.nodes)


def test_broadcast_strides() -> None:
    graph = graph_of("input %x : f32[4,1]\nreturn %x")
    (x,) = graph.inputs
    column = Strided(x, 3, (4, 1), (7, 1))
    spread = broadcast_to(column, (2, 4, 5))
    assert spread is not None
    assert (spread.offset, spread.shape, spread.strides) == (3, (2, 4, 5), (0, 7, 0))
    assert broadcast_to(column, (5,)) is None
    assert broadcast_to(column, (3, 5)) is None


# -- in fuse-rows --------------------------------------------------------------------------------------------

CROSS = """
    input %x : f32[8,512]
    weight %v : f32[300,512] = "v"
    weight %w : f32[512,300] = "w"
    weight %t : f32[1,512] = "t"
    %low = linear(%x, %v) : f32[8,300]
    %y = linear(%low, %w) : f32[8,512]
"""


def programs(text: str) -> list[str]:
    old, graph = graph_of(text), graph_of(text)
    fuse_rows(graph)
    verify(graph)
    assert_same_meaning(old, graph)
    form_kernels(graph)
    verify(graph)
    return kernels(graph)


def test_the_consumers_of_a_layer_apart_leave_the_row_program_for_its_epilogue() -> None:
    text = (
        CROSS
        + """
        %m = mul(%x, %y) : f32[8,512]
        %a = add(%m, %x) : f32[8,512]
        %r = relu(%a) : f32[8,512]
        %s = linear(%r, %t) : f32[8,1]
        return %s
    """
    )
    assert programs(text) == ["linear: linear", "linear: linear mul add relu", "linear: linear"]


def test_they_stay_where_an_operand_would_be_written_for_them_alone() -> None:
    text = (
        CROSS
        + """
        weight %u : f32[512,3] = "u"
        input %few : f32[8,3]
        %gate = linear(%few, %u) {act=sigmoid} : f32[8,512]
        %m = mul(%gate, %y) : f32[8,512]
        %s = linear(%m, %t) : f32[8,1]
        return %s
    """
    )
    assert programs(text) == ["linear: linear", "linear: linear", "row_program: linear mul linear"]
