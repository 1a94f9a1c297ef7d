from __future__ import annotations

import pytest

from dlrmc.errors import PassError
from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.schedule.buffers import Placements, place
from dlrmc.schedule.plan import BufferRef


def graph_of(*statements: str, outputs: str) -> Graph:
    leaves = ["input %x : f32[4,3]", "input %y : f32[4,3]", 'weight %w : f32[5,3] = "w"']
    return parse_graph("\n".join(["graph @g {", *leaves, *statements, f"return {outputs}", "}"]))


def linear(name: str, x: str, columns: int = 5, weight: str = "w") -> str:
    """A kernel `name` = x @ w.T."""
    return (
        f"%{name} = kernel linear(%{x}, %{weight}) {{ %r = linear(%{x}, %{weight}) : f32[4,{columns}] "
        f"yield %r }} : f32[4,{columns}]"
    )


def unary(name: str, x: str, op: str = "relu", shape: str = "4,3") -> str:
    body = f"%r = {op}(%{x}) : f32[{shape}] yield %r"
    return f"%{name} = kernel map(%{x}) {{ {body} }} : f32[{shape}]"


def placed(graph: Graph) -> Placements:
    launches = [node for node in graph.nodes if node.is_op("kernel")]
    residents = [node for node in graph.nodes if node.is_op("weight", "const", "derive")]
    return place(graph, launches, residents)


def test_inputs_weights_and_outputs_have_buffers_of_their_own():
    graph = graph_of(linear("z", "y"), outputs="%z")
    places = placed(graph)
    assert places.operands[graph.find("y")].buffer == BufferRef("input", 1)
    assert places.operands[graph.find("w")].buffer == BufferRef("resident", 0)
    result = places.results[graph.find("z"), 0]
    assert (result.buffer, result.strides) == (BufferRef("output", 0), (5, 1))
    assert places.arena_bytes == 0


def test_intermediates_share_the_arena_by_their_lives():
    graph = graph_of(unary("a", "x"), unary("b", "a"), unary("c", "b"), unary("d", "c"), outputs="%d")
    places = placed(graph)
    buffers = [places.operands[graph.find(name)].buffer for name in "abcd"]
    assert [each.kind for each in buffers] == ["arena", "arena", "arena", "output"]
    a, b, c = (each.offset_bytes for each in buffers[:3])
    assert a == c != b
    assert places.arena_bytes == 512


def test_a_value_that_is_read_again_later_is_not_overwritten():
    both = "%d = kernel map(%a, %c) { %s = add(%a, %c) : f32[4,3] yield %s } : f32[4,3]"
    graph = graph_of(unary("a", "x"), unary("b", "a"), unary("c", "b"), both, outputs="%d")
    places = placed(graph)
    offsets = {places.operands[graph.find(name)].buffer.offset_bytes for name in "abc"}
    assert len(offsets) == 3


def test_an_output_that_a_later_kernel_reads_is_read_where_it_is_written():
    graph = graph_of(unary("a", "x"), unary("b", "a"), outputs="%b, %a")
    places = placed(graph)
    assert places.operands[graph.find("a")].buffer == BufferRef("output", 1)
    assert places.results[graph.find("a"), 0].buffer == BufferRef("output", 1)


def test_the_parts_of_an_assemble_are_slices_of_its_buffer():
    graph = graph_of(
        linear("p", "x"),
        unary("q", "y"),
        "%all = assemble(%p, %q) {dim=1} : f32[4,8]",
        unary("z", "all", shape="4,8"),
        outputs="%z",
    )
    places = placed(graph)
    p, q = (places.results[graph.find(name), 0] for name in "pq")
    whole = places.operands[graph.find("all")]
    assert whole.strides == p.strides == q.strides == (8, 1)
    assert p.buffer == whole.buffer
    assert q.buffer == BufferRef("arena", 0, whole.buffer.offset_bytes + 5 * 4)
    assert places.arena_bytes == 256


def test_parts_along_the_rows_are_packed_one_after_the_other():
    graph = graph_of(
        unary("p", "x"), unary("q", "y"), "%all = assemble(%p, %q) {dim=0} : f32[8,3]", outputs="%all"
    )
    places = placed(graph)
    assert places.results[graph.find("p"), 0].buffer == BufferRef("output", 0)
    assert places.results[graph.find("q"), 0].buffer == BufferRef("output", 0, 4 * 3 * 4)
    assert places.results[graph.find("q"), 0].strides == (3, 1)


def test_an_assemble_within_an_assemble():
    graph = graph_of(
        unary("p", "x"),
        unary("q", "y"),
        linear("r", "x"),
        "%inner = assemble(%p, %q) {dim=1} : f32[4,6]",
        "%outer = assemble(%r, %inner) {dim=1} : f32[4,11]",
        outputs="%outer",
    )
    places = placed(graph)
    offsets = [places.results[graph.find(name), 0].buffer.offset_bytes for name in "rpq"]
    assert offsets == [0, 5 * 4, 8 * 4]
    assert {places.results[graph.find(name), 0].strides for name in "rpq"} == {(11, 1)}


def test_the_buffer_of_an_assemble_lives_from_its_first_part_to_its_last_reader():
    graph = graph_of(
        unary("p", "x"),
        unary("between", "y"),
        unary("q", "between"),
        "%all = assemble(%p, %q) {dim=1} : f32[4,6]",
        unary("z", "all", shape="4,6"),
        outputs="%z",
    )
    places = placed(graph)
    start = places.operands[graph.find("all")].buffer.offset_bytes
    between = places.operands[graph.find("between")].buffer.offset_bytes
    assert between + 48 <= start or between >= start + 96


SEVERAL = """%k = kernel row_program<batch=4>(%x) {
  %a = relu(%x) : f32[4,3]
  %b = sum(%x) {dims=[1]} : f32[4]
  yield %a, %b
} : (f32[4,3], f32[4])"""


def test_the_results_of_a_kernel_are_placed_by_their_items():
    graph = graph_of(
        SEVERAL,
        "%one = item(%k) {index=1} : f32[4]",
        "%zero = item(%k) {index=0} : f32[4,3]",
        unary("z", "zero"),
        outputs="%one, %z",
    )
    places = placed(graph)
    kernel = graph.find("k")
    assert places.results[kernel, 1].buffer == BufferRef("output", 0)
    assert places.results[kernel, 0] == places.operands[graph.find("zero")]
    assert places.results[kernel, 0].buffer.kind == "arena"


def test_a_result_that_nothing_reads_has_a_buffer_too():
    graph = graph_of(SEVERAL, "%one = item(%k) {index=1} : f32[4]", outputs="%one")
    places = placed(graph)
    assert places.results[graph.find("k"), 0].buffer == BufferRef("arena", 0)
    assert places.arena_bytes == 256


def test_two_items_of_one_result_are_refused():
    graph = graph_of(
        SEVERAL,
        "%one = item(%k) {index=1} : f32[4]",
        "%again = item(%k) {index=1} : f32[4]",
        outputs="%one, %again",
    )
    with pytest.raises(PassError) as error:
        placed(graph)
    assert str(error.value) == (
        "planning @g: %again and %one are both result 1 of %k\n"
        "  expected: one item for each result\n"
        "  to mend: run cse first"
    )


def _between(columns: int, reader: str) -> Graph:
    """%a [4, columns], made by one kernel and read by another."""
    body = f"%r = expand(%s) {{shape=[4,{columns}]}} : f32[4,{columns}] yield %r"
    texts = [
        "%s = kernel map(%x) { %q = sum(%x) {dims=[1], keepdim=true} : f32[4,1] yield %q } : f32[4,1]",
        f"%a = kernel map(%s) {{ {body} }} : f32[4,{columns}]",
        reader,
    ]
    leaves = ["input %x : f32[4,3]", f'weight %v : f32[5,{columns}] = "v"']
    return parse_graph("\n".join(["graph @g {", *leaves, *texts, "return %z", "}"]))


def test_rows_that_only_products_read_start_at_whole_sectors():
    graph = _between(35, "%z = kernel linear(%a, %v) { %r = linear(%a, %v) : f32[4,5] yield %r } : f32[4,5]")
    places = placed(graph)
    assert places.results[graph.find("a"), 0].strides == (40, 1)
    assert places.operands[graph.find("a")].strides == (40, 1)
    assert places.arena_bytes >= 4 * 40 * 4


@pytest.mark.parametrize("columns", [31, 35])
def test_rows_that_others_read_are_packed(columns: int):
    graph = _between(
        columns, f"%z = kernel map(%a) {{ %r = relu(%a) : f32[4,{columns}] yield %r }} : f32[4,{columns}]"
    )
    assert placed(graph).results[graph.find("a"), 0].strides == (columns, 1)
