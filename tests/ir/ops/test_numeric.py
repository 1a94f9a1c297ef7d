"""Rounding: one rounding of fused multiply-add, f16 and bf16 computed wider."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dlrmc.ir.ops.numeric import fused_multiply_add, quiet, rounded, widened
from dlrmc.ir.types import DType


def _nearest_float32(exact: Fraction) -> np.float32:
    """The float32 nearest to a rational, ties to even, by comparing the neighbours of a guess."""
    guess = np.float32(float(exact))
    near = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(near, key=lambda f: (abs(Fraction(float(f)) - exact), f.view(np.int32) & 1))


def test_fused_multiply_add_rounds_once():
    random = np.random.default_rng(7)
    a, b = (random.uniform(-2, 2, 2000).astype(np.float32) for _ in range(2))
    c = (random.uniform(-2, 2, 2000) * 2.0 ** random.integers(-40, 40, 2000)).astype(np.float32)
    wanted = [
        _nearest_float32(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))
        for x, y, z in zip(a, b, c, strict=True)
    ]
    np.testing.assert_array_equal(fused_multiply_add(a, b, c), np.array(wanted))


def test_fused_multiply_add_where_rounding_through_float64_is_wrong():
    # 1 + 2**-24 is a tie of float32 and 2**-60 decides it; float64 loses the 2**-60 and the tie goes to even.
    a, b = np.array([2.0**-30], np.float32), np.array([2.0**-30], np.float32)
    c = np.array([1.0], np.float32)
    tie = np.array([1 + 2.0**-12], np.float32)
    total = fused_multiply_add(tie, tie, -c)
    assert total[0] == np.float32(2.0**-11 + 2.0**-24)
    assert fused_multiply_add(a, b, c)[0] == 1.0
    x = np.array([1 + 2.0**-23], np.float32)
    y = np.array([2.0**-24 * (1 + 2.0**-23)], np.float32)
    assert fused_multiply_add(x, y, c)[0] == np.float32(1 + 2.0**-23)


def test_fused_multiply_add_keeps_infinities_and_nans():
    inf, zero, one = (np.array([v], np.float32) for v in (np.inf, 0.0, 1.0))
    with quiet():
        assert fused_multiply_add(inf, one, one)[0] == np.inf
        assert np.isnan(fused_multiply_add(inf, zero, one)[0])
        assert np.isnan(fused_multiply_add(inf, one, -inf)[0])


def test_halves_are_widened_and_others_are_not():
    assert widened(np.ones(2, DType.BF16.numpy)).dtype == np.float32
    assert widened(np.ones(2, np.float16)).dtype == np.float32
    assert widened(np.ones(2, np.float64)).dtype == np.float64
    assert widened(np.ones(2, np.int8)).dtype == np.int8


def test_rounded_gives_an_array_of_rank_0_for_a_scalar():
    value = rounded(np.float64(0.1), DType.F16)
    assert isinstance(value, np.ndarray)
    assert (value.shape, value.dtype) == ((), np.float16)
