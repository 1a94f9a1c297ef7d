from __future__ import annotations

import pytest

from dlrmc.ir.graph import Node
from dlrmc.ir.op import Elementwise, Op
from dlrmc.ir.ops import ALL_OPS
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.rows import MIXED, UNIFORM, Rows, RowTag
from dlrmc.passes.row_tags import tag_rows

BATCH = 4
LEAVES = """
input %x : f32[4,6]
input %y : f32[4,6]
input %cube : f32[4,2,3]
input %pairs : f32[8,3]
input %odd : f32[6,6]
input %square : f32[4,4]
input %id_f : f32[4]
input %id_six : f32[6]
input %id : i64[4]
input %ids : i64[4,2]
input %jagged : i64[7]
input %off : i64[4]
weight %w : f32[6,6] = "w"
weight %b : f32[6] = "b"
weight %row : f32[1,6] = "row"
weight %full : f32[4,6] = "full"
weight %stack : f32[4,3,5] = "stack"
weight %table : f32[9,3] = "table"
weight %wide : f32[6,12] = "wide"
weight %bytes : u8[9,11] = "bytes"
const %col : i64[2] = [1,0]
const %half : f32[] = 0.5
"""


def tags_of(statement: str, batch: int = BATCH) -> tuple[Node, RowTag]:
    lines = LEAVES.strip().splitlines()
    inputs = [line for line in lines if line.startswith("input")]
    others = [line for line in lines if not line.startswith("input")]
    graph = parse_graph("\n".join(["graph @g {", *inputs, *others, statement, "return", "}"]))
    node = graph.nodes[-1]
    return node, tag_rows(graph, batch)[node]


ROWS, PAIRS = Rows(1), Rows(2)
CASES: list[tuple[str, RowTag]] = [
    # Entry by entry, in rows that line up.
    ("%v = relu(%x) : f32[4,6]", ROWS),
    ("%v = relu(%odd) : f32[6,6]", MIXED),
    ("%v = relu(%w) : f32[6,6]", UNIFORM),
    ("%v = add(%x, %y) : f32[4,6]", ROWS),
    ("%v = add(%x, %b) : f32[4,6]", ROWS),
    ("%v = add(%x, %row) : f32[4,6]", ROWS),
    ("%v = add(%x, %half) : f32[4,6]", ROWS),
    ("%v = mul(%pairs, %pairs) : f32[8,3]", PAIRS),
    # A weight of as many rows as the batch has is not the same for every row.
    ("%v = add(%x, %full) : f32[4,6]", MIXED),
    # The batch broadcast along the last dimension.
    ("%v = add(%square, %id_f) : f32[4,4]", MIXED),
    # Products.
    ("%v = linear(%x, %w, %b) : f32[4,6]", ROWS),
    ("%v = linear([%x, %x], %wide) : f32[4,6]", ROWS),
    ("%v = linear(%w, %x) : f32[6,4]", MIXED),
    ("%v = mm(%x, %w) : f32[4,6]", ROWS),
    ("%v = mm(%w, %odd) : f32[6,6]", MIXED),
    ("%v = addmm(%b, %x, %w) : f32[4,6]", ROWS),
    ("%v = addmm(%row, %x, %w) : f32[4,6]", ROWS),
    ("%v = addmm(%full, %x, %w) : f32[4,6]", MIXED),
    ("%v = addmm(%y, %x, %w) : f32[4,6]", MIXED),
    ("%v = bmm(%cube, %cube) {trans_b=true} : f32[4,2,2]", ROWS),
    ("%v = bmm(%cube, %stack) : f32[4,2,5]", MIXED),
    ("%v = pairwise_dot(%cube) : f32[4,1]", ROWS),
    ("%v = pairwise_dot(%x, %full) : f32[4,1]", MIXED),
    # Reads by ids.
    ("%v = embedding(%table, %ids) : f32[4,2,3]", ROWS),
    ("%v = embedding(%pairs, %ids) : f32[4,2,3]", MIXED),
    ("%v = embedding_bag(%table, %ids) : f32[4,3]", ROWS),
    ("%v = embedding_bag(%table, %jagged, %off) : f32[4,3]", ROWS),
    ("%v = embedding_bag(%pairs, %jagged, %off) : f32[4,3]", MIXED),
    ("%v = embedding_bag_group([%table], [%jagged], [%off], [_]) : f32[4,1,3]", ROWS),
    ("%v = quantized_embedding_bag_group([%bytes], [%jagged], [%off], [_]) : f32[4,1,3]", ROWS),
    ("%v = quantized_embedding_bag(%bytes, %jagged, %off) : f32[4,3]", ROWS),
    ("%v = quantized_embedding_bag(%bytes, %ids) : f32[4,3]", ROWS),
    ("%v = index(%table, %id) : f32[4,3]", ROWS),
    ("%v = index(%pairs, %id) : f32[4,3]", MIXED),
    ("%v = index(%x, _, %col) : f32[4,2]", ROWS),
    ("%v = index(%cube, _, %col, %col) : f32[4,2]", ROWS),
    ("%v = index(%cube, %col, _, %col) : f32[2,2]", MIXED),
    ("%v = index_select(%table, %id) {dim=0} : f32[4,3]", ROWS),
    ("%v = index_select(%x, %id) {dim=0} : f32[4,6]", MIXED),
    ("%v = index_select(%x, %col) {dim=1} : f32[4,2]", ROWS),
    ("%v = index_select(%x, %id) {dim=1} : f32[4,4]", MIXED),
    ("%v = gather(%x, %ids) {dim=1} : f32[4,2]", ROWS),
    ("%v = gather(%x, %ids) {dim=0} : f32[4,2]", MIXED),
    ("%v = gather(%b, %id) {dim=0} : f32[4]", ROWS),
    ("%v = gather(%id_six, %id) {dim=0} : f32[4]", MIXED),
    # Moves.
    ("%v = view(%x) {shape=[4,2,3]} : f32[4,2,3]", ROWS),
    ("%v = view(%x) {shape=[8,3]} : f32[8,3]", PAIRS),
    ("%v = view(%x) {shape=[6,4]} : f32[6,4]", MIXED),
    ("%v = view(%x) {shape=[1,24]} : f32[1,24]", MIXED),
    ("%v = view(%w) {shape=[4,9]} : f32[4,9]", UNIFORM),
    ("%v = permute(%cube) {perm=[0,2,1]} : f32[4,3,2]", ROWS),
    ("%v = permute(%x) {perm=[1,0]} : f32[6,4]", MIXED),
    ("%v = expand(%row) {shape=[4,6]} : f32[4,6]", ROWS),
    ("%v = expand(%b) {shape=[8,6]} : f32[8,6]", PAIRS),
    ("%v = expand(%b) {shape=[5,6]} : f32[5,6]", UNIFORM),
    ("%v = expand(%x) {shape=[4,4,6]} : f32[4,4,6]", MIXED),
    ("%v = slice(%x) {dim=1, start=0, stop=2} : f32[4,2]", ROWS),
    ("%v = slice(%x) {dim=0, start=0, stop=4} : f32[4,6]", MIXED),
    ("%v = select(%x) {dim=1, index=0} : f32[4]", ROWS),
    ("%v = select(%cube) {dim=0, index=0} : f32[2,3]", MIXED),
    ("%v = cat(%x, %y) {dim=1} : f32[4,12]", ROWS),
    ("%v = cat(%x, %y) {dim=0} : f32[8,6]", MIXED),
    ("%v = cat(%x, %full) {dim=1} : f32[4,12]", MIXED),
    ("%v = assemble(%x, %y) {dim=1} : f32[4,12]", ROWS),
    # Reductions and normalisations.
    ("%v = sum(%cube) {dims=[1,2]} : f32[4]", ROWS),
    ("%v = mean(%cube) {dims=[2], keepdim=true} : f32[4,2,1]", ROWS),
    ("%v = amax(%cube) {dims=[0]} : f32[2,3]", MIXED),
    ("%v = amin(%cube) {dims=[0,1,2]} : f32[]", MIXED),
    ("%v = prod(%pairs) {dims=[1]} : f32[8]", PAIRS),
    ("%v = softmax(%x) {dim=1} : f32[4,6]", ROWS),
    ("%v = softmax(%x) {dim=0} : f32[4,6]", MIXED),
    ("%v = log_softmax(%cube) {dim=2} : f32[4,2,3]", ROWS),
    ("%v = layer_norm(%x, %b) {eps=0.0} : f32[4,6]", ROWS),
    ("%v = layer_norm(%id_f) {eps=0.0} : f32[4]", MIXED),
    ("%v = layer_norm(%x, %id_six) {eps=0.0} : f32[4,6]", MIXED),
    # The order along a dimension.
    ("%v = argsort(%x) {dim=1, count=2} : i64[4,2]", ROWS),
    ("%v = argsort(%x) {dim=0, count=4} : i64[4,6]", MIXED),
    ("%v = cumsum(%cube) {dim=2} : f32[4,2,3]", ROWS),
    ("%v = cumsum(%cube) {dim=0} : f32[4,2,3]", MIXED),
    ("%v = cumprod(%x) {dim=1} : f32[4,6]", ROWS),
    # What stands in a kernel is not looked into.
    ("%v = kernel map(%x) { yield %x } : f32[4,6]", MIXED),
    ("%v = derive(%w) { yield %w } : f32[6,6]", UNIFORM),
]


@pytest.mark.parametrize(
    ("statement", "tag"), CASES, ids=lambda case: case if isinstance(case, str) else str(case)
)
def test_the_tag_of_each_op(statement: str, tag: RowTag):
    assert tags_of(statement)[1] == tag


def test_every_op_with_a_rule_of_its_own_has_a_case():
    ruled = {op.name for op in ALL_OPS if type(op).rows not in (Op.rows, Elementwise.rows)}
    assert ruled <= {tags_of(statement)[0].op.name for statement, _ in CASES}


def test_inputs_are_rows_where_the_batch_divides_them():
    graph = parse_graph("graph @g { input %a : f32[4,3] input %b : f32[12] input %c : f32[6] return }")
    assert [*tag_rows(graph, 4).values()] == [Rows(1), Rows(3), MIXED]
    assert [*tag_rows(graph, 4, uniform=frozenset({graph.find("a")})).values()] == [UNIFORM, Rows(3), MIXED]
    assert [*tag_rows(graph, 0).values()] == [MIXED, MIXED, MIXED]


def test_a_mixed_value_is_read_as_rows_where_readers_start_anew():
    graph = parse_graph(
        """graph @g {
             input %x : f32[4,3]
             %s = cumsum(%x) {dim=0} : f32[4,3]
             %t = sum(%s) {dims=[0]} : f32[3]
             %y = relu(%s) : f32[4,3]
             %z = relu(%t) : f32[3]
             return %y, %z
           }"""
    )
    anew = tag_rows(graph, 4, restarts=True)
    assert {node.name: anew[node] for node in graph.nodes} == {
        "x": Rows(1), "s": MIXED, "t": MIXED, "y": Rows(1), "z": MIXED,
    }  # fmt: skip
    assert tag_rows(graph, 4)[graph.find("y")] is MIXED


@pytest.mark.parametrize(
    ("statement", "tag"),
    [
        ("%v = softmax(%x) {dim=0} : f32[1,6]", Rows(1)),
        ("%v = permute(%x) {perm=[1,0]} : f32[6,1]", Rows(6)),
        ("%v = cat(%x, %x) {dim=0} : f32[2,6]", Rows(2)),
        ("%v = add(%x, %w) : f32[6,6]", Rows(6)),
        ("%v = linear(%x, %w, %b) : f32[1,6]", MIXED),
        ("%v = sum(%x) {dims=[0,1]} : f32[]", MIXED),
        ("%v = relu(%w) : f32[6,6]", UNIFORM),
    ],
)
def test_one_row_is_mixed_with_no_other(statement: str, tag: RowTag):
    graph = parse_graph(
        f"""graph @g {{
              input %x : f32[1,6]
              input %b : f32[6]
              weight %w : f32[6,6] = "w"
              {statement}
              return %v
            }}"""
    )
    assert tag_rows(graph, 1)[graph.find("v")] == tag
