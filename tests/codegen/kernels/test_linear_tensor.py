"""The linear kernel on tensor cores: emulated against the reference, its accuracy, what NVRTC makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlrmc.codegen.kernels.linear_tile import TENSOR_TILES, TensorProductTile
from dlrmc.emulator.sanitize import SanitizedWorker
from dlrmc.ir.types import DType
from dlrmc.runtime import nvrtc
from tests.codegen.anchor_cases import (
    ARCHITECTURES,
    FEW_SPILLED_BYTES,
    GappedCase,
    check_all_orders,
    check_gapped,
    random_array,
)
from tests.codegen.kernel_cases import (
    Built,
    Case,
    assert_close,
    body_of,
    case_of_op,
    prepare,
    run_case,
)
from tests.codegen.product_cases import build_with, emit_with, linear_case

F32 = DType.F32
# Small enough to be emulated, with every way of sharing a tile: by rows and columns, over k, both.
SMALL = TensorProductTile(16, 16, (1, 2, 1), 1, 2)
OVER_ROWS = TensorProductTile(64, 32, (2, 1, 1), 2, 3)
OVER_K = TensorProductTile(32, 32, (1, 1, 4), 1, 3)
OVER_ALL = TensorProductTile(32, 64, (2, 2, 2), 2, 4)
TILES = (SMALL, OVER_ROWS, OVER_K, OVER_ALL)


def _bias_of_every_row(g, x, w, b):
    turned = g.add("permute", (w,), {"perm": (1, 0)})
    return g.add("addmm", (b, x, turned), {"alpha": 2.0, "beta": -0.5})


def _windows(g, x, w, b):
    """Parts that are slices of one matrix, out of order, and a result in another shape."""
    right = g.add("slice", (x,), {"dim": 1, "start": 4, "stop": 12})
    left = g.add("slice", (x,), {"dim": 1, "start": 0, "stop": 4})
    y = g.add("linear", ((right, left), w, g.add("select", (b,), {"dim": 0, "index": 1})))
    return g.add("view", (y,), {"shape": (3, 4, 8)})


def _body(build, *types) -> Case:
    body = body_of(build, *types)
    rng = np.random.default_rng(3)
    arrays = {node.name: random_array(rng, node.type.dtype, *node.shape) for node in body.inputs}
    return Case(body, arrays, "linear", tolerance=1e-5)


CASES = {
    "whole tiles": linear_case(64, 64, (128,), act="relu"),
    "one number": linear_case(1, 1, (1,)),
    "ragged rows, columns and k": linear_case(67, 69, (61,), act="tanh"),
    "packs of 2": linear_case(33, 10, (22,), act="sigmoid", indirect=True),
    "whole packs, a ragged slab": linear_case(33, 64, (20,), act="gelu"),
    "aligned parts": linear_case(40, 36, (16, 32, 4), act="silu"),
    "parts of odd widths": linear_case(35, 33, (3, 17, 40), act="leaky_relu", slope=0.2),
    "deep": linear_case(5, 7, (300,), bias=False, alpha=0.5),
    "a bias for every row": _body(_bias_of_every_row, "f32[37,21]", "f32[35,21]", "f32[37,35]"),
    "parts that are windows": _body(_windows, "f32[12,12]", "f32[8,12]", "f32[2,8]"),
}


@pytest.fixture(scope="module", params=TILES, ids=str)
def built(request, own_cache) -> Built:
    return build_with(list(CASES.values()), request.param, own_cache)


@pytest.mark.parametrize("name", CASES)
def test_all_thread_orders_give_the_reference(built, name):
    assert "TensorProduct<dlrmc_linear" in built.source.kernels[0].text
    check_all_orders(built, list(CASES).index(name))


def test_the_tiles_of_the_choice_compute_too(own_cache):
    case = linear_case(130, 132, (40,), act="relu")
    for tile in TENSOR_TILES:
        check_all_orders(build_with([case], tile, own_cache), 0)


@pytest.mark.parametrize(("precision", "limit"), [("tf32", 2e-3), ("bf16", 2e-2)])
def test_lower_precisions_are_as_near_as_their_factors(own_cache, precision, limit):
    case = linear_case(33, 40, (50, 14))
    for tile in (OVER_ROWS, OVER_K):
        built = build_with([replace(case, tolerance=limit * 8)], tile, own_cache, precision)
        check_all_orders(built, 0)
        got, wanted = run_case(built, 0).results[0], case.wanted()[0]
        # Nearer would mean that another precision was used.
        assert limit / 20 < np.abs(got - wanted).max() < limit * 8


def _gapped(strides, offset) -> GappedCase:
    rng = np.random.default_rng(5)
    operands = ((random_array(rng, F32, 17, 12),), random_array(rng, F32, 8, 12), random_array(rng, F32, 8))
    case = case_of_op("linear", operands, {"act": "relu"})
    gaps = {"result_strides": strides, "result_offset": offset}
    return GappedCase(case.body, case.arrays, "linear", tolerance=1e-5, **gaps)


@pytest.mark.parametrize("tile", [OVER_ROWS, OVER_K], ids=str)
def test_the_result_may_have_gaps(own_cache, tile):
    gaps = [((40, 1), 16, 17 * 40 + 16), ((37, 1), 3, 17 * 37 + 3), ((24, 3), 1, 17 * 24 + 1)]
    built = build_with([_gapped(strides, offset) for strides, offset, _ in gaps], tile, own_cache)
    for index, (_, _, elements) in enumerate(gaps):
        check_gapped(built, index, elements)


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
@pytest.mark.parametrize("tile", [OVER_ROWS, OVER_K], ids=str)
def test_infinities_nans_and_large_values_are_as_in_float32(own_cache, tile, precision):
    x = np.ones((8, 37), np.float32)
    x[1, 36], x[2, 0], x[4, 3] = np.inf, np.nan, -np.inf
    x[5, 1], x[5, 30] = np.inf, -np.inf
    # The bits of the NaN that a GPU makes, and the largest number, which rounds to infinity.
    x[6, 7] = np.array([0x7FFFFFFF], np.uint32).view(np.float32)[0]
    x[7] = 0
    x[7, 20] = np.finfo(np.float32).max
    w = np.full((3, 37), 1, np.float32)
    case = case_of_op("linear", ((x[:, :30].copy(), x[:, 30:].copy()), w, None), {}, impl="linear")
    result = run_case(build_with([case], tile, own_cache, precision), 0).results[0]
    largest = np.finfo(np.float32).max
    column = np.array([37, np.inf, np.nan, 37, -np.inf, np.nan, np.nan, largest], np.float32)
    np.testing.assert_array_equal(result, np.repeat(column[:, None], 3, axis=1))


def test_values_near_1e30_and_1e_minus_30_keep_their_precision(own_cache):
    rng = np.random.default_rng(11)
    x = rng.uniform(0.5, 1, (4, 48)).astype(np.float32) * np.array([1e30, 1e-30, 1e30, 1e-20])[:, None]
    w = rng.uniform(0.5, 1, (4, 48)).astype(np.float32) * np.array([1e-30, 1e8, 1e-10, 1])[:, None]
    x, w = x.astype(np.float32), w.astype(np.float32)
    case = case_of_op("linear", ((x,), w, None), {}, impl="linear")
    result = run_case(build_with([case], OVER_ROWS, own_cache), 0).results[0]
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    is_normal = (np.abs(exact) > 1e-30) & (np.abs(exact) < 3e38)
    np.testing.assert_allclose(result[is_normal], exact[is_normal], rtol=1e-6)
    assert np.isinf(result[np.abs(exact) > 3.5e38]).all()


def test_the_lower_halves_count(own_cache):
    """1 + 2**-11 is no TF32 number: without the lower half the sum would be 1024 or 1025."""
    x, w = np.full((1, 1024), 1 + 2**-11, np.float32), np.ones((3, 1024), np.float32)
    case = case_of_op("linear", ((x,), w, None), {}, impl="linear")
    for tile in (OVER_ROWS, OVER_K):
        result = run_case(build_with([case], tile, own_cache), 0).results[0]
        np.testing.assert_array_equal(result, np.full((1, 3), 1024.5, np.float32))


@pytest.mark.parametrize("is_positive", [False, True])
def test_the_error_is_at_most_twice_that_of_float32(own_cache, is_positive):
    rng = np.random.default_rng(7)
    x, w = random_array(rng, F32, 64, 1000), random_array(rng, F32, 32, 1000)
    if is_positive:
        x, w = np.abs(x), np.abs(w)
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    products = np.float32(x[:, None, :]) * w[None, :, :]
    in_order = np.add.accumulate(products, axis=-1, dtype=np.float32)[..., -1]
    case = case_of_op("linear", ((x,), w, None), {}, impl="linear")
    for tile in (OVER_ROWS, OVER_K):
        result = run_case(build_with([case], tile, own_cache), 0).results[0]
        assert np.abs(result - exact).max() <= 2 * np.abs(in_order - exact).max()


def test_under_address_sanitizer(own_cache):
    names = ("ragged rows, columns and k", "parts of odd widths", "whole packs, a ragged slab")
    built = build_with([CASES[name] for name in names], OVER_ALL, own_cache, sanitize=True)
    with SanitizedWorker() as worker:
        for case, kernel in zip(built.cases, built.source.kernels, strict=True):
            launch, buffers, _ = prepare(case, kernel)
            worker.run(built.module, [launch], buffers)
            assert_close(buffers[-1], case.wanted()[0], case.tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_nvrtc_builds_every_tile_with_hardly_a_spill(architecture, precision):
    for tile in TENSOR_TILES:
        cases = [
            linear_case(256, 1024, (1024,), act="relu"),
            linear_case(130, 1000, (128, 351), act="sigmoid"),
        ]
        source = emit_with(cases, tile, precision)
        cubin = nvrtc.compile_source(source.text, architecture)
        assert not [kernel for kernel in cubin.kernels if kernel.spill_store_bytes > FEW_SPILLED_BYTES]
        assert max(kernel.registers for kernel in cubin.kernels) * tile.threads <= 65536
