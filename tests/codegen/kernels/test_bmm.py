"""The bmm kernel, emulated in every order of its threads, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.codegen.kernels.bmm import Bmm
from dlrmc.errors import CodegenError
from dlrmc.ir.types import DType
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


def _bmm(batch, m, n, k, dtype=F32, *, trans_a=False, trans_b=False, **options):
    rng = np.random.default_rng(batch + m * n + k)
    a = random_array(rng, dtype, batch, *((k, m) if trans_a else (m, k)))
    b = random_array(rng, dtype, batch, *((n, k) if trans_b else (k, n)))
    attributes = {"trans_a": trans_a, "trans_b": trans_b}
    tolerance = product_tolerance(dtype, k)
    return case_of_op("bmm", (a, b), attributes, impl="bmm", tolerance=tolerance, **options)


SIZES = {
    "one number": _bmm(1, 1, 1, 1),
    "odd sizes": _bmm(17, 3, 5, 7),
    "a gram matrix": _bmm(19, 9, 9, 16, trans_b=True, indirect=True),
    "both transposed": _bmm(5, 12, 13, 20, trans_a=True, trans_b=True),
    "a transposed": _bmm(3, 20, 1, 30, trans_a=True),
    "one row": _bmm(33, 1, 16, 10),
    "one column": _bmm(33, 16, 1, 10),
    "several entries a block": _bmm(600, 5, 6, 8),
    "chunks, b transposed": _bmm(2, 70, 33, 40, trans_b=True),
    "chunks, both sides along rows": _bmm(2, 130, 70, 18, trans_a=True),
    "f64": _bmm(3, 9, 6, 5, F64),
    "f64 in chunks": _bmm(2, 70, 66, 19, F64),
    "f16": _bmm(3, 9, 8, 12, F16),
    "f16 in chunks": _bmm(2, 70, 66, 37, F16, trans_b=True),
    "bf16": _bmm(3, 9, 8, 12, BF16),
}
SAMPLES = cases_of_samples(("bmm", "mm"), "bmm")


def _heads(g, a, b):
    """Attention's scores: heads split off the last dimension, never copied."""
    queries, keys = (_split_heads(g, x) for x in (a, b))
    scores = g.add("bmm", (queries, keys), {"trans_b": True})
    return g.add("view", (scores,), {"shape": (2, 3, 5, 5)})


def _split_heads(g, x):
    """[2, 5, 24], its second entry, to [6 heads, 5, 4]."""
    one = g.add("select", (x,), {"dim": 0, "index": 1})
    return g.add("permute", (g.add("view", (one,), {"shape": (5, 6, 4)}),), {"perm": (1, 0, 2)})


def _gram_of_slices(g, a, b):
    left = g.add("slice", (a,), {"dim": 1, "start": 1, "stop": 4})
    right = g.add("permute", (a,), {"perm": (0, 2, 1)})
    return g.add("bmm", (left, right))


def _shared_side(g, a, b):
    """One matrix for all entries."""
    first = g.add("slice", (b,), {"dim": 0, "start": 0, "stop": 1})
    return g.add("bmm", (a, g.add("expand", (first,), {"shape": (2, 5, 12)})), {"trans_b": True})


BODIES = {"heads": _heads, "gram of slices": _gram_of_slices, "one side for all": _shared_side}


def _body_case(name: str) -> Case:
    kind = "f32[2,5,24]" if name == "heads" else "f32[2,5,12]"
    body = body_of(BODIES[name], kind, kind)
    rng = np.random.default_rng(3)
    arrays = {node.name: random_array(rng, F32, *node.shape) for node in body.inputs}
    return Case(body, arrays, "bmm", tolerance=1e-5)


CASES = {**SIZES, **{name: _body_case(name) for name in BODIES}, **SAMPLES}


@pytest.fixture(scope="module")
def built(own_cache) -> Built:
    return build_cases(list(CASES.values()), own_cache)


@pytest.mark.parametrize("name", CASES)
def test_all_thread_orders_give_the_reference(built, name):
    check_all_orders(built, list(CASES).index(name))


def test_both_forms_are_emitted():
    text = emit_cases(list(SIZES.values())).text
    assert "BatchProduct<dlrmc_bmm" in text
    assert "TiledProduct<dlrmc_bmm" in text


def test_a_small_product_of_a_large_batch_shares_blocks():
    kernel = emit_cases([SIZES["several entries a block"]]).kernels[0]
    assert kernel.grid < 600


@pytest.mark.parametrize("m", [6, 70])
def test_the_result_may_have_gaps(own_cache, m):
    case = _bmm(3, m, 8, 12)
    strides = (m * 20 + 12, 20, 2)
    gapped = GappedCase(
        case.body, case.arrays, "bmm", tolerance=1e-5, result_strides=strides, result_offset=4
    )
    check_gapped(build_cases([gapped], own_cache), 0, 3 * strides[0] + 4)


def test_another_anchor_is_refused():
    body = body_of(lambda g, x: g.add("relu", (x,)), "f32[3,4]")
    with pytest.raises(CodegenError, match="one of bmm, mm"):
        Bmm().check(body)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_builds_it_with_hardly_a_spill(architecture):
    cases = [
        _bmm(2048, 27, 27, 64, trans_b=True),
        _bmm(64, 200, 200, 64, trans_b=True),
        _bmm(2048, 1, 64, 50),
        _bmm(64, 100, 100, 32, BF16),
        _bmm(8, 70, 70, 32, F64, trans_a=True),
    ]
    assert_builds(cases, architecture)
