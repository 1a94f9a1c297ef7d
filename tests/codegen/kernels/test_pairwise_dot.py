"""The pairwise_dot kernel, emulated in every order of its threads, against the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlrmc.codegen.kernels.pairwise_dot import PairwiseDot
from dlrmc.errors import CodegenError
from dlrmc.ir.ops.interaction import PAIRS
from dlrmc.ir.types import DType
from dlrmc.schedule.limits import DeviceLimits
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
from tests.codegen.kernel_cases import Built, Case, body_of, build_cases, case_of_op, emit_cases

F32, F64, F16, BF16 = DType.F32, DType.F64, DType.F16, DType.BF16


def _dots(batch, parts, dtype=F32, pairs="strict_lower", **options):
    rng = np.random.default_rng(batch + len(parts))
    operands = (tuple(random_array(rng, dtype, batch, *part) for part in parts),)
    tolerance = product_tolerance(dtype, parts[0][-1])
    return case_of_op(
        "pairwise_dot", operands, {"pairs": pairs}, impl="pairwise_dot", tolerance=tolerance, **options
    )


SIZES = {
    "two features of one number": _dots(1, [(1,), (1,)]),
    "dense and a group": _dots(17, [(16,), (2, 16)]),
    "dense and many": _dots(19, [(16,), (32, 16)], indirect=True),
    "several rows a block": _dots(300, [(8,), (3, 8)]),
    "odd width": _dots(5, [(7,), (7,), (4, 7)]),
    "width 1": _dots(5, [(9, 1)]),
    "many widths of one feature": _dots(3, [(12,)] * 11),
    "one feature with itself": _dots(3, [(12,)], pairs="lower"),
    "f64": _dots(3, [(9, 64), (64,)], F64),
    "f16": _dots(4, [(9, 8), (8,)], F16),
    "bf16": _dots(4, [(5, 6)], BF16, "upper"),
    **{
        f"{pairs} of {f}": _dots(3, [(4,), (f - 1, 4)], pairs=pairs)
        for pairs in PAIRS
        for f in (2, 3, 8, 9, 13)
    },
}
SAMPLES = cases_of_samples(("pairwise_dot",), "pairwise_dot")


def _windows(g, dense, bags):
    """Features that lie apart: a slice of a wider row, every other table, and a transposed part."""
    first = g.add("slice", (dense,), {"dim": 1, "start": 3, "stop": 11})
    others = g.add("slice", (bags,), {"dim": 1, "start": 0, "stop": 6, "step": 2})
    turned = g.add("permute", (g.add("view", (dense,), {"shape": (5, 8, 2)}),), {"perm": (0, 2, 1)})
    return g.add("pairwise_dot", ((first, others, turned),), {"pairs": "lower"})


def _windows_case() -> Case:
    body = body_of(_windows, "f32[5,16]", "f32[5,6,8]")
    rng = np.random.default_rng(3)
    arrays = {node.name: random_array(rng, F32, *node.shape) for node in body.inputs}
    return Case(body, arrays, "pairwise_dot", tolerance=1e-5)


CASES = {**SIZES, "windows": _windows_case(), **SAMPLES}


@pytest.fixture(scope="module")
def built(own_cache) -> Built:
    return build_cases(list(CASES.values()), own_cache)


@pytest.mark.parametrize("name", CASES)
def test_all_thread_orders_give_the_reference(built, name):
    check_all_orders(built, list(CASES).index(name))


def test_few_features_of_a_large_batch_share_blocks():
    kernel = emit_cases([SIZES["several rows a block"]]).kernels[0]
    assert kernel.grid < 300


@pytest.mark.parametrize(("row_stride", "offset"), [(367, 16), (28, 0), (9, 3)])
def test_the_result_may_be_a_slice_of_wider_rows(own_cache, row_stride, offset):
    case = _dots(9, [(8,), (3, 8)])
    gaps = {"result_strides": (row_stride, 1), "result_offset": offset}
    gapped = GappedCase(case.body, case.arrays, "pairwise_dot", tolerance=1e-5, **gaps)
    check_gapped(build_cases([gapped], own_cache), 0, 9 * row_stride + offset)


def test_results_that_do_not_fit_beside_the_features_are_written_at_once(own_cache):
    case = replace(_dots(1, [(360, 4)]), tolerance=1e-5)
    assert emit_cases([case]).kernels[0].shared_bytes < 360 * 359 // 2 * 4
    check_all_orders(build_cases([case], own_cache), 0)


def test_features_that_do_not_fit_are_refused():
    too_many = DeviceLimits().shared_bytes_per_block // (4 * 132) + 1
    with pytest.raises(CodegenError, match="bytes of shared memory for 1 rows") as caught:
        emit_cases([_dots(1, [(too_many, 128)])])
    assert "fewer or narrower features" in str(caught.value)


def test_another_anchor_is_refused():
    body = body_of(lambda g, x: g.add("relu", (x,)), "f32[3,4]")
    with pytest.raises(CodegenError, match="one of pairwise_dot"):
        PairwiseDot().check(body)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_builds_it_with_hardly_a_spill(architecture):
    cases = [
        _dots(2048, [(16,), (32, 16)]),
        _dots(2048, [(128,), (26, 128)]),
        _dots(2, [(16,), (2, 16)]),
        _dots(64, [(64,), (26, 64)], BF16),
        _dots(64, [(32,), (8, 32)], F64),
    ]
    assert_builds(cases, architecture)
