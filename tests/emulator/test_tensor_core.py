"""mma.sync against NumPy: each fragment's place is seen, since all numbers are different."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from dlrmc.emulator import run_all_orders
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import launch_on

FILE = "tensor_cores"


def to_tf32(value: np.ndarray) -> np.ndarray:
    """To nearest, ties away from zero, by arithmetic and not by bits; for normal numbers."""
    fraction, exponent = np.frexp(value.astype(np.float64))
    scaled = fraction * 2048  # 11 bits in front of the point, with the leading one
    rounded = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    return np.ldexp(rounded / 2048, exponent)


def test_tf32(build_file: BuildFile) -> None:
    rng = np.random.default_rng(3)
    a, b, c = (rng.standard_normal(shape, dtype=np.float32) for shape in ((16, 8), (8, 8), (16, 8)))
    d = np.zeros((16, 8), np.float32)
    run_all_orders(build_file(FILE), [launch_on("tf32", [a, b, c, d])], [a, b, c, d])
    expected = to_tf32(a) @ to_tf32(b) + c
    np.testing.assert_allclose(d, expected, rtol=0, atol=np.abs(expected).max() * 2.0**-23)
    assert np.abs(d - (a.astype(np.float64) @ b + c)).max() > 1e-5  # the inputs were rounded


def test_bf16(build_file: BuildFile) -> None:
    rng = np.random.default_rng(4)
    a = rng.standard_normal((16, 16)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((16, 8)).astype(ml_dtypes.bfloat16)
    c = rng.standard_normal((16, 8), dtype=np.float32)
    d = np.zeros((16, 8), np.float32)
    buffers = [a.view(np.uint32), np.ascontiguousarray(b.T).view(np.uint32), c, d]
    run_all_orders(build_file(FILE), [launch_on("bf16", buffers)], buffers)
    expected = a.astype(np.float64) @ b.astype(np.float64) + c
    np.testing.assert_allclose(d, expected, rtol=0, atol=np.abs(expected).max() * 2.0**-23)


def test_infinities_and_nans_pass_through_tf32(build_file: BuildFile) -> None:
    a, b, c = np.ones((16, 8), np.float32), np.ones((8, 8), np.float32), np.zeros((16, 8), np.float32)
    a[2, 5], a[3, 1] = np.inf, np.nan
    d = np.zeros((16, 8), np.float32)
    run_all_orders(build_file(FILE), [launch_on("tf32", [a, b, c, d])], [a, b, c, d])
    assert np.isposinf(d[2]).all()
    assert np.isnan(d[3]).all()
    assert (np.delete(d, [2, 3], axis=0) == 8).all()


def test_sums_are_rounded_towards_zero(build_file: BuildFile) -> None:
    a, b = np.ones((16, 8), np.float32), np.zeros((8, 8), np.float32)
    c = np.full((16, 8), 1.0, np.float32)
    # Three quarters of what the last bit of the sum is worth.
    b[0] = 0.75 * 2.0**-23
    a[1], c[1] = -1.0, -1.0
    d = np.zeros((16, 8), np.float32)
    run_all_orders(build_file(FILE), [launch_on("tf32", [a, b, c, d])], [a, b, c, d])
    np.testing.assert_array_equal(d[0], np.ones(8, np.float32))
    np.testing.assert_array_equal(d[1], -np.ones(8, np.float32))
