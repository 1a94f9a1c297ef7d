"""Expressions of values that do not lie in global memory: the index space and the loads are the caller's."""

import pytest

from dlrmc.codegen.code_blocks import CodeBlocks
from dlrmc.codegen.constant_tables import ConstantTables
from dlrmc.codegen.expressions import ExpressionWriter
from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.index_expressions import constant, dot, render, unravel, variable
from dlrmc.codegen.source import KernelContext
from dlrmc.errors import CodegenError
from dlrmc.schedule.limits import DeviceLimits
from tests.codegen.kernel_cases import body_of


def writer_for(body, load, *, lane="", uniform=False):
    names = tuple(f"user_{node.name}" for node in body.inputs)
    context = KernelContext("k", (), (), (), (), names, 3, DeviceLimits())
    blocks = CodeBlocks(is_uniform=uniform)
    return ExpressionWriter(blocks, load, ConstantTables("k"), FaultSites(body, context), lane)


def of_inputs(text):
    """A load of the body's inputs only."""
    return lambda node, indices: text(node, indices) if node.is_op("input") else None


def test_a_value_in_a_tile_is_loaded_through_the_callback_and_its_producer_is_not_computed():
    body = body_of(lambda g, a: g.add("relu", (g.add("exp", (a,)),)), "f32[8,16]")
    relu = body.outputs[0]
    exp = relu.inputs[0]

    def load(node, indices):
        return f"tile[{render(dot(indices, (20, 1)))}]" if node is exp else None

    writer = writer_for(body, load)
    # Four rows of a tile, padded to a stride of 20.
    row, column = unravel(variable("t", 64), (4, 16))
    assert writer.value(relu, (row, column)) == "v_relu"
    assert writer.blocks.lines == (
        "const float v_exp = tile[t / 16 * 20 + t % 16];",
        "const float v_relu = dlrmc_relu(v_exp);",
    )


def test_a_value_that_is_neither_in_memory_nor_an_expression_is_named():
    body = body_of(lambda g, a, b: g.add("mm", (a, b)), "f32[2,3]", "f32[3,2]")
    writer = writer_for(body, lambda node, indices: None)
    with pytest.raises(CodegenError, match="%mm: op mm inside an expression"):
        writer.value(body.outputs[0], (constant(0), constant(0)))


def test_the_parts_of_a_cat_are_read_only_where_they_are():
    body = body_of(lambda g, a, b: g.add("cat", ((a, b),), {"dim": 0}), "f32[3]", "f32[5]")
    writer = writer_for(body, of_inputs(lambda node, indices: f"{node.name}[{render(indices[0])}]"))
    assert writer.value(body.outputs[0], (variable("i", 8),)) == "v_cat"
    assert writer.blocks.lines == (
        "float v_cat;",
        "if (i < 3) {",
        "    const auto a_at = i;",
        "    const float v_a = a[a_at];",
        "    v_cat = v_a;",
        "} else {",
        "    const auto b_at = i - 3;",
        "    const float v_b = b[b_at];",
        "    v_cat = v_b;",
        "}",
    )


def test_a_known_place_in_a_cat_needs_no_condition():
    body = body_of(lambda g, a, b: g.add("cat", ((a, b),), {"dim": 0}), "f32[3]", "f32[5]")
    writer = writer_for(body, of_inputs(lambda node, indices: f"{node.name}[{render(indices[0])}]"))
    assert writer.value(body.outputs[0], (constant(4),)) == "v_b"
    assert writer.blocks.lines == ("const float v_b = b[1];",)


def test_a_warp_shares_a_reduction_that_is_the_same_for_all_lanes():
    body = body_of(lambda g, a: g.add("sum", (a,), {"dims": (1,)}), "f32[4,64]")
    writer = writer_for(
        body,
        of_inputs(lambda node, indices: f"a[{render(dot(indices, (64, 1)))}]"),
        lane="lane",
        uniform=True,
    )
    writer.blocks.declare("row")
    assert writer.value(body.outputs[0], (variable("row", 4),)) == "sum_sum"
    assert writer.blocks.lines == (
        "float sum_sum = 0.0f;",
        "for (int r = lane; r < 64; r += 32) {",
        "    const float v_a = a[row * 64 + r];",
        "    sum_sum = Sum::apply(sum_sum, v_a);",
        "}",
        "sum_sum = warp_reduce<Sum>(sum_sum);",
    )


def test_a_site_is_named_after_the_users_operand_and_numbered_from_the_first():
    def lookup(g, table, ids):
        return g.add("embedding", (table, g.add("select", (ids,), {"dim": 1, "index": 2})))

    body = body_of(lookup, "f32[4,3]", "i32[2,5]")
    writer = writer_for(body, of_inputs(lambda node, indices: f"{node.name}[{render(dot(indices, (5, 1)))}]"))
    writer.value(body.outputs[0], (variable("i", 2), variable("j", 3)))
    assert "if (!select_id_is_valid) record_fault(faults, 3, i * 5 + 2, v_b, 4ll);" in writer.blocks.lines
    (site,) = writer.faults.sites
    assert (site.kernel, site.operand, site.kind) == ("k", "user_b", "id")


def test_broadcast_operands_are_read_at_index_zero():
    body = body_of(lambda g, a, b: g.add("add", (a, b)), "f32[4,1]", "f32[3]")
    writer = writer_for(
        body, of_inputs(lambda node, indices: f"{node.name}[{', '.join(map(render, indices))}]")
    )
    writer.value(body.outputs[0], (variable("i", 4), variable("j", 3)))
    assert writer.blocks.lines[:2] == ("const float v_a = a[i, 0];", "const float v_b = b[j];")


def test_a_region_that_multiplies_without_bound_is_refused_in_time():
    def doubling(g, a):
        for _ in range(20):
            first = g.add("slice", (a,), {"dim": 0, "start": 0, "stop": 3})
            second = g.add("slice", (a,), {"dim": 0, "start": 1, "stop": 4})
            inner = g.add("add", (first, second))
            a = g.add("cat", ((inner, g.add("slice", (a,), {"dim": 0, "start": 2, "stop": 3})),), {"dim": 0})
        return a

    body = body_of(doubling, "f32[4]")
    writer = writer_for(body, of_inputs(lambda node, indices: f"{node.name}[{render(indices[0])}]"))
    with pytest.raises(CodegenError, match="a region that needs more than 8192 values"):
        writer.value(body.outputs[0], (variable("i", 4),))
