"""The linear kernel, emulated in every order of its threads, against the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlrmc.codegen.kernels.linear import Linear
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Graph
from dlrmc.ir.types import DType, TensorType
from tests.codegen.anchor_cases import (
    ARCHITECTURES,
    GappedCase,
    assert_builds,
    cases_of_samples,
    check_all_orders,
    check_gapped,
    product_tolerance,
    random_array,
)
from tests.codegen.kernel_cases import Built, Case, body_of, build_cases, case_of_op, emit_cases, run_case

F32, F64, F16, BF16 = DType.F32, DType.F64, DType.F16, DType.BF16


def _linear(rows, n, widths, dtype=F32, *, bias=True, schedule=None, **options):
    rng = np.random.default_rng(rows * n + sum(widths))
    parts = tuple(random_array(rng, dtype, rows, width) for width in widths)
    weight = random_array(rng, dtype, n, sum(widths))
    attributes = {name: options.pop(name) for name in ("act", "alpha", "beta", "slope") if name in options}
    operands = (parts, weight, random_array(rng, dtype, n) if bias else None)
    tolerance = product_tolerance(dtype, sum(widths))
    case = case_of_op("linear", operands, attributes, impl="linear", tolerance=tolerance, **options)
    return replace(case, attributes=schedule or {})


# Edge sizes; the sizes of real layers; sizes that take each form of the kernel.
SIZES = {
    "one number": _linear(1, 1, (1,)),
    "one row": _linear(1, 37, (5,), act="relu"),
    "17 rows of odd sizes": _linear(17, 5, (3,), act="sigmoid"),
    "a first layer": _linear(33, 64, (3,), act="relu"),
    "a last layer": _linear(40, 1, (32,), act="sigmoid", indirect=True),
    "many columns, few rows": _linear(2, 130, (260,), act="tanh"),
    "no bias": _linear(19, 16, (64,), bias=False),
    "three aligned parts": _linear(9, 24, (16, 32, 4), act="silu"),
    "three parts of odd widths": _linear(9, 10, (3, 17, 1), act="gelu"),
    "a part of no columns": _linear(3, 4, (0, 8)),
    "tensor cores, odd sizes": _linear(131, 70, (65,), act="leaky_relu", slope=0.2, schedule={"rows": 128}),
    "tensor cores, parts": _linear(140, 130, (30, 20, 16), schedule={"rows": 128}),
    "rows of 16": _linear(50, 33, (24,), act="gelu_tanh", schedule={"rows": 16, "threads": 64}),
    "rows of 64 for one warp": _linear(70, 12, (20,), schedule={"rows": 64, "threads": 32}),
    "scales": _linear(7, 9, (12,), alpha=0.5, beta=-2.0),
    "f64": _linear(17, 12, (21,), F64, act="relu"),
    "f64 in chunks": _linear(70, 66, (21,), F64, schedule={"rows": 128}),
    "f64 in chunks, parts": _linear(140, 130, (30, 20, 16), F64, schedule={"rows": 128}),
    "f16": _linear(17, 12, (20,), F16, act="tanh"),
    "f16 in chunks": _linear(65, 70, (34,), F16, schedule={"rows": 128}),
    "bf16": _linear(17, 12, (20,), BF16, act="sigmoid"),
    "bf16 of odd sizes": _linear(5, 7, (9,), BF16),
}
SAMPLES = cases_of_samples(("linear", "addmm"), "linear")


def _permuted_weight(g, x, w, b):
    return g.add("linear", ((x,), g.add("permute", (w,), {"perm": (1, 0)}), b), {"act": "relu"})


def _mm(g, x, w, b):
    return g.add("mm", (x, g.add("slice", (w,), {"dim": 1, "start": 1, "stop": 6})))


def _windows(g, x, w, b):
    """Parts that are slices of one matrix, out of order, and a result in another shape."""
    right = g.add("slice", (x,), {"dim": 1, "start": 4, "stop": 12})
    left = g.add("slice", (x,), {"dim": 1, "start": 0, "stop": 4})
    y = g.add("linear", ((right, left), w, g.add("select", (b,), {"dim": 0, "index": 1})))
    return g.add("view", (y,), {"shape": (3, 4, 8)})


def _three_dimensions(g, x, w, b):
    kept = g.add("slice", (x,), {"dim": 2, "start": 1, "stop": 7})
    return g.add("linear", ((kept,), w, b), {"act": "sigmoid"})


def _transposed_rows(g, x, w, b):
    return g.add("linear", ((g.add("permute", (x,), {"perm": (1, 0)}),), w, b))


def _one_row_for_all(g, x, w, b):
    return g.add("linear", ((g.add("expand", (x,), {"shape": (9, 12)}),), w, b))


BODIES = {
    "weight packed for coalesced reads": (_permuted_weight, "f32[17,12]", "f32[12,8]", "f32[8]"),
    "packed weight of odd sizes": (_permuted_weight, "f32[17,13]", "f32[13,7]", "f32[7]"),
    "packed bf16 weight": (_permuted_weight, "bf16[5,12]", "bf16[12,8]", "bf16[8]"),
    "mm with a slice of the weight": (_mm, "f32[9,12]", "f32[12,8]", "f32[8]"),
    "parts that are windows": (_windows, "f32[12,12]", "f32[8,12]", "f32[2,8]"),
    "three dimensions": (_three_dimensions, "f32[5,3,7]", "f32[8,6]", "f32[8]"),
    "x stored transposed": (_transposed_rows, "f32[12,35]", "f32[8,12]", "f32[8]"),
    "one row for all": (_one_row_for_all, "f32[1,12]", "f32[8,12]", "f32[8]"),
}


def _body_case(name: str) -> Case:
    build, *types = BODIES[name]
    body = body_of(build, *types)
    rng = np.random.default_rng(3)
    arrays = {node.name: random_array(rng, node.type.dtype, *node.shape) for node in body.inputs}
    return Case(body, arrays, "linear", tolerance=1e-5)


# Where the k of a weight do not lie side by side, tensor cores are no choice.
IN_CHUNKS = {
    "packed weight in chunks": replace(_body_case("packed weight of odd sizes"), attributes={"rows": 128}),
}
CASES = {**SIZES, **{name: _body_case(name) for name in BODIES}, **IN_CHUNKS, **SAMPLES}


@pytest.fixture(scope="module")
def built(own_cache) -> Built:
    return build_cases(list(CASES.values()), own_cache)


@pytest.mark.parametrize("name", CASES)
def test_all_thread_orders_give_the_reference(built, name):
    check_all_orders(built, list(CASES).index(name))


def test_all_forms_are_emitted():
    text = emit_cases([*SIZES.values(), *IN_CHUNKS.values()]).text
    assert "LinearRows<dlrmc_linear" in text
    assert text.count("TiledProduct<dlrmc_linear") == 4
    assert text.count("TensorProduct<dlrmc_linear") == 2


GAPPED = {
    "a slice of a wider buffer": ((40, 1), 16, 17 * 40 + 16),
    "an odd slice of a wider buffer": ((37, 1), 3, 17 * 37 + 3),
    "columns apart": ((24, 3), 1, 17 * 24 + 1),
}


@pytest.mark.parametrize("rows", [8, 64])
def test_the_result_may_have_gaps(own_cache, rows):
    rng = np.random.default_rng(5)
    operands = ((random_array(rng, F32, 17, 12),), random_array(rng, F32, 8, 12), random_array(rng, F32, 8))
    cases = []
    for strides, offset, _ in GAPPED.values():
        case = case_of_op("linear", operands, {"act": "relu"})
        options = {"attributes": {"rows": rows}, "tolerance": 1e-5}
        gaps = {"result_strides": strides, "result_offset": offset}
        cases.append(GappedCase(case.body, case.arrays, "linear", **options, **gaps))
    built = build_cases(cases, own_cache)
    for index, (_, _, elements) in enumerate(GAPPED.values()):
        check_gapped(built, index, elements)


def test_with_beta_0_the_bias_is_not_read(own_cache):
    x, w = np.ones((3, 4), np.float32), np.ones((5, 4), np.float32)
    bias = np.full(5, np.nan, np.float32)
    case = case_of_op("linear", ((x,), w, bias), {"beta": 0.0}, impl="linear")
    ran = run_case(build_cases([case], own_cache), 0)
    np.testing.assert_array_equal(ran.results[0], np.full((3, 5), 4, np.float32))


@pytest.mark.parametrize("rows", [4, 64])
def test_infinities_and_nans_stay_in_their_rows(own_cache, rows):
    x = np.ones((6, 9), np.float32)
    x[1, 8], x[2, 0], x[4, 3] = np.inf, np.nan, -np.inf
    w = np.full((3, 9), 2, np.float32)
    case = case_of_op("linear", ((x,), w, None), {"act": "relu"}, impl="linear")
    case = replace(case, attributes={"rows": rows})
    ran = run_case(build_cases([case], own_cache), 0)
    expected = np.repeat(np.array([18, np.inf, np.nan, 18, 0, 18], np.float32)[:, None], 3, axis=1)
    np.testing.assert_array_equal(ran.results[0], expected)


def test_a_body_with_another_op_is_refused():
    body = body_of(lambda g, x, w: g.add("linear", ((g.add("relu", (x,)),), w, None)), "f32[3,4]", "f32[5,4]")
    with pytest.raises(CodegenError, match="op relu") as caught:
        Linear().check(body)
    assert "a view of an operand of %linear" in str(caught.value)


def test_another_anchor_is_refused():
    body = body_of(lambda g, x: g.add("relu", (x,)), "f32[3,4]")
    with pytest.raises(CodegenError, match="one of linear, mm, addmm"):
        Linear().check(body)


def test_rows_that_do_not_nest_are_refused():
    graph = Graph("body")
    x = graph.input("x", TensorType(F32, (4, 3, 5)))
    w = graph.input("w", TensorType(F32, (2, 5)))
    turned = graph.add("permute", (x,), {"perm": (1, 0, 2)})
    graph.set_outputs([graph.add("linear", ((turned,), w, None))])
    arrays = {"x": np.zeros((4, 3, 5), np.float32), "w": np.zeros((2, 5), np.float32)}
    with pytest.raises(CodegenError, match="rows of one stride; make a copy"):
        emit_cases([Case(graph, arrays, "linear")])


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_builds_the_sizes_of_real_layers_with_hardly_a_spill(architecture):
    layers = [
        _linear(2048, 64, (16, 528), act="relu"),
        _linear(2048, 1024, (128, 351), act="relu"),
        _linear(2048, 512, (1024,), act="relu"),
        _linear(128, 1024, (1024,), act="relu"),
        _linear(2, 64, (544,), act="relu"),
        _linear(2048, 1, (256,), act="sigmoid"),
        _linear(2048, 256, (512,), BF16, act="gelu"),
        _linear(64, 64, (64,), F64),
    ]
    assert_builds(layers, architecture)
