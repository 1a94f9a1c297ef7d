"""The linear kernel by warpgroups: emulated against the reference, its accuracy, what NVRTC makes of it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from dlrmc.codegen.kernels.linear_choice import choose_tile
from dlrmc.codegen.kernels.linear_tile import WARPGROUP_TILES, LinearShape, ProductTile, WarpgroupTile
from dlrmc.emulator.sanitize import SanitizedWorker
from dlrmc.ir.attributes import Attributes
from dlrmc.ir.ops import find_op
from dlrmc.ir.types import DType
from dlrmc.runtime import nvrtc
from dlrmc.schedule.limits import DeviceLimits
from tests.codegen.anchor_cases import check_all_orders, random_array
from tests.codegen.kernel_cases import Case, assert_close, body_of, case_of_op, prepare, run_case
from tests.codegen.product_cases import build_with, emit_with, linear_case

F32 = DType.F32
ONE_GROUP = WarpgroupTile(64, 32, 3)
TWO_GROUPS = WarpgroupTile(128, 64, 4)
OVER_K = WarpgroupTile(64, 32, 3, over_k=2)
# What a product of values rounded to TF32 may be off by, relative to the sum of the products' magnitudes.
TF32_ERROR = 2.0**-10


def _bias_of_every_row(g, x, w, b):
    turned = g.add("permute", (w,), {"perm": (1, 0)})
    return g.add("addmm", (b, x, turned), {"alpha": 2.0, "beta": -0.5})


def _body(build, *types) -> Case:
    body = body_of(build, *types)
    rng = np.random.default_rng(3)
    arrays = {node.name: random_array(rng, F32, *node.shape) for node in body.inputs}
    return Case(body, arrays, impl="linear", tolerance=1e-5)


CASES = {
    "whole tiles": linear_case(128, 64, (64,), act="relu"),
    "ragged rows, columns and k": linear_case(70, 41, (44,), act="sigmoid"),
    "one row": linear_case(1, 3, (8,), bias=False),
    "an odd number of slabs": linear_case(40, 36, (96,), act="relu"),
    "parts": linear_case(66, 40, (36, 4, 32), act="relu"),
    "more stages than slabs": linear_case(5, 8, (4,)),
    "a bias of every row, scaled": _body(_bias_of_every_row, "f32[9,12]", "f32[6,12]", "f32[9,6]"),
}


@pytest.fixture(scope="module", params=(ONE_GROUP, TWO_GROUPS, OVER_K), ids=str)
def built(request, own_cache):
    return build_with(list(CASES.values()), request.param, own_cache)


@pytest.mark.parametrize("name", CASES)
def test_all_thread_orders_give_the_reference(built, name):
    assert "WarpgroupProduct<dlrmc_linear" in built.source.kernels[0].text
    check_all_orders(built, list(CASES).index(name))


def test_shared_memory_of_one_name_has_one_alignment_in_a_module():
    """A module's kernels share the symbol: the tiles would stand where another kernel's may."""
    declaration = re.compile(r"extern __shared__ __align__\((\d+)\) unsigned char (\w+)\[\]")
    tiles = (ProductTile(32, 32, 16, 2, 4), ONE_GROUP)
    texts = (emit_with([CASES["whole tiles"]], tile).text for tile in tiles)
    found = {found for text in texts for found in declaration.findall(text)}
    assert {int(alignment) for alignment, _ in found} == {16, 1024}
    assert len({name for _, name in found}) == len(found)


def test_tf32_multiplies_fewer_bits(own_cache):
    case = replace(linear_case(70, 40, (64, 12)), tolerance=TF32_ERROR * 76)
    for tile in (TWO_GROUPS, OVER_K):
        built = build_with([case], tile, own_cache, "tf32")
        check_all_orders(built, 0)
        got, wanted = run_case(built, 0).results[0], case.wanted()[0]
        assert np.abs(got - wanted).max() > 1e-4  # nearer would mean that another precision was used


def _by_tf32(x, w, tile, cache):
    case = case_of_op("linear", ((x,), w, None), {}, impl="linear")
    return run_case(build_with([case], tile, cache, "tf32"), 0).results[0]


@pytest.mark.parametrize("tile", [ONE_GROUP, TWO_GROUPS, OVER_K], ids=str)
def test_tf32_rounds_both_factors_to_nearest(own_cache, tile):
    """The exact sum of rounded factors, but for what the tensor cores' adder cuts off."""
    rng = np.random.default_rng(13)
    x, w = (rng.uniform(1, 2, (rows, 96)).astype(np.float32) for rows in (70, 41))
    rounded_x, rounded_w = (find_op("round_tf32").reference((each,), Attributes()) for each in (x, w))
    result = _by_tf32(x, w, tile, own_cache)
    np.testing.assert_allclose(result, rounded_x.astype(np.float64) @ rounded_w.T, rtol=96 * 2.0**-24)
    ratio = result / (x.astype(np.float64) @ w.astype(np.float64).T)
    assert abs(ratio.mean() - 1) < 2e-5


@pytest.mark.parametrize("tile", [ONE_GROUP, TWO_GROUPS, OVER_K], ids=str)
def test_tf32_multiplies_what_it_can_hold_exactly(own_cache, tile):
    rng = np.random.default_rng(17)
    x, w = (rng.integers(-63, 64, (rows, 100)).astype(np.float32) for rows in (66, 40))
    np.testing.assert_array_equal(_by_tf32(x, w, tile, own_cache), x @ w.T)
    x = np.exp2(rng.integers(-4, 5, (66, 100))).astype(np.float32)
    np.testing.assert_array_equal(_by_tf32(x, w, tile, own_cache), x @ w.T)
    ones = np.ones((3, 40), np.float32)
    np.testing.assert_array_equal(_by_tf32(ones, ones, tile, own_cache), np.full((3, 3), 40))


@pytest.mark.parametrize("is_weight", [False, True])
def test_a_tie_goes_to_the_even_tf32_number(own_cache, is_weight):
    odd, ones = np.full((1, 1024), 1 + 2**-11, np.float32), np.ones((1, 1024), np.float32)
    x, w = (ones, odd) if is_weight else (odd, ones)
    np.testing.assert_array_equal(_by_tf32(x, w, ONE_GROUP, own_cache), [[1024]])


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_infinities_and_nans_are_as_in_float32(own_cache, precision):
    x = np.ones((6, 40), np.float32)
    x[1, 39], x[2, 0], x[4, 3] = np.inf, np.nan, -np.inf
    # The bits of the NaN that a GPU makes.
    x[5, 7] = np.array([0x7FFFFFFF], np.uint32).view(np.float32)[0]
    w = np.ones((3, 40), np.float32)
    case = case_of_op("linear", ((x,), w, None), {}, impl="linear")
    result = run_case(build_with([case], ONE_GROUP, own_cache, precision), 0).results[0]
    column = np.array([40, np.inf, np.nan, 40, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(result, np.repeat(column[:, None], 3, axis=1))
    turned = case_of_op("linear", ((w,), x, None), {}, impl="linear")
    result = run_case(build_with([turned], ONE_GROUP, own_cache, precision), 0).results[0]
    np.testing.assert_array_equal(result, np.repeat(column[None, :], 3, axis=0))


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_the_largest_number_stays_finite(own_cache, precision):
    largest = np.finfo(np.float32).max
    x = np.zeros((2, 8), np.float32)
    x[0, 3], x[1, 4] = largest, -largest
    case = case_of_op("linear", ((x,), np.ones((3, 8), np.float32), None), {}, impl="linear")
    result = run_case(build_with([case], ONE_GROUP, own_cache, precision), 0).results[0]
    limit = 2**-10 if precision == "tf32" else 0
    np.testing.assert_allclose(result, [[largest] * 3, [-largest] * 3], rtol=limit)


@pytest.mark.parametrize("is_positive", [False, True])
@pytest.mark.parametrize("depth", [64, 1000])
def test_the_error_is_at_most_twice_that_of_float32(own_cache, depth, is_positive):
    rng = np.random.default_rng(7)
    x, w = random_array(rng, F32, 64, depth), random_array(rng, F32, 32, depth)
    if is_positive:
        x, w = np.abs(x), np.abs(w)
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    products = np.float32(x[:, None, :]) * w[None, :, :]
    in_order = np.add.accumulate(products, axis=-1, dtype=np.float32)[..., -1]
    case = case_of_op("linear", ((x,), w, None), {}, impl="linear")
    result = run_case(build_with([case], ONE_GROUP, own_cache), 0).results[0]
    rms, wanted = (np.sqrt(np.mean((each - exact) ** 2)) for each in (result, in_order))
    assert rms <= 1.5 * wanted
    assert np.abs(result - exact).max() <= 2 * np.abs(in_order - exact).max()


def test_the_lower_halves_count(own_cache):
    """1 + 2**-11 is no TF32 number, as x or as w."""
    odd, ones = np.full((1, 1024), 1 + 2**-11, np.float32), np.ones((1, 1024), np.float32)
    for x, w in ((odd, ones), (ones, odd)):
        case = case_of_op("linear", ((x,), w, None), {}, impl="linear")
        result = run_case(build_with([case], ONE_GROUP, own_cache), 0).results[0]
        np.testing.assert_array_equal(result, [[1024.5]])


def test_under_address_sanitizer(own_cache):
    built = build_with(list(CASES.values()), TWO_GROUPS, own_cache, sanitize=True)
    with SanitizedWorker() as worker:
        for case, kernel in zip(built.cases, built.source.kernels, strict=True):
            launch, buffers, _ = prepare(case, kernel)
            worker.run(built.module, [launch], buffers)
            assert_close(buffers[-1], case.wanted()[0], case.tolerance)


def test_only_sm_90a_gets_warpgroups():
    shape = LinearShape(2048, 1024, 1024, 4, 4, fits_tensor_cores=True, fits_warpgroups=True)
    assert not isinstance(choose_tile(shape, DeviceLimits()), WarpgroupTile)
    assert isinstance(choose_tile(shape, DeviceLimits(has_warpgroups=True)), WarpgroupTile)
    odd = replace(shape, fits_warpgroups=False)
    assert not isinstance(choose_tile(odd, DeviceLimits(has_warpgroups=True)), WarpgroupTile)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_nvrtc_builds_every_tile_without_a_spill(precision):
    for tile in WARPGROUP_TILES:
        cases = [
            linear_case(256, 1024, (1024,), act="relu"),
            linear_case(130, 1000, (128, 352), act="sigmoid"),
        ]
        cubin = nvrtc.compile_source(emit_with(cases, tile, precision).text, "sm_90a")
        assert not [kernel for kernel in cubin.kernels if kernel.spill_store_bytes]
        assert max(kernel.registers for kernel in cubin.kernels) * tile.threads <= 65536
