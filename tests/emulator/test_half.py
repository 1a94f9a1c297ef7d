"""16-bit floats and TF32: every half and every bfloat16, and every place where rounding changes its mind."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from dlrmc.emulator import run_launches
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import launch_on

FILE = "numbers"
TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
BLOCK = 1024


def run(build_file: BuildFile, kernel: str, given: np.ndarray, out_type: type[np.generic]) -> np.ndarray:
    out = np.zeros(given.size, out_type)
    launch = launch_on(kernel, [given, out], grid=given.size // BLOCK, block=BLOCK)
    run_launches(build_file(FILE), [launch], [given, out])
    return out


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_widening_all_65536(build_file: BuildFile, name: str) -> None:
    bits = np.arange(65536, dtype=np.uint32).astype(np.uint16)
    wide = run(build_file, f"widen_{name}", bits, np.float32)
    expected = bits.view(TYPES[name]).astype(np.float32)
    np.testing.assert_array_equal(wide, expected)  # NaN equals NaN here
    np.testing.assert_array_equal(np.signbit(wide), np.signbit(expected))


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_narrowing_at_and_around_each_value_and_each_midpoint(build_file: BuildFile, name: str) -> None:
    bits = np.arange(65536, dtype=np.uint32).astype(np.uint16)
    values = bits.view(TYPES[name]).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        middles = ((values.astype(np.float64) + np.roll(values, 1)) / 2).astype(np.float32)
        points = np.concatenate([values, middles])
        given = np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])
        expected = given.astype(TYPES[name]).view(np.uint16)
    given = given.astype(np.float32)
    found = run(build_file, f"narrow_{name}", given, np.uint16)
    np.testing.assert_array_equal(found, np.where(np.isnan(given), 0x7FFF, expected))


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_narrowing_any_bits(build_file: BuildFile, name: str) -> None:
    given = np.random.default_rng(6).integers(0, 2**32, 1 << 18, np.uint32).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = given.astype(TYPES[name]).view(np.uint16)
    found = run(build_file, f"narrow_{name}", given, np.uint16)
    np.testing.assert_array_equal(found, np.where(np.isnan(given), 0x7FFF, expected))


def test_rounding_to_tf32(build_file: BuildFile) -> None:
    """TF32 has 10 bits behind the leading one: what decides are the 13 that go and the last that stays."""
    upper = np.random.default_rng(3).integers(0, 2**19, 1 << 14, np.uint32) << 13
    lower = np.array([0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF], np.uint32)
    bits = (upper[:, None] | lower).reshape(-1)[: 95 * BLOCK]
    given = bits.view(np.float32)
    found = run(build_file, "narrow_tf32", given, np.uint32)
    is_odd = bits >> 13 & 1
    expected = (bits.astype(np.uint64) + 0xFFF + is_odd & 0xFFFFE000).astype(np.uint32)
    np.testing.assert_array_equal(found[~np.isnan(given)], expected[~np.isnan(given)])
    assert np.isnan(found.view(np.float32)[np.isnan(given)]).all()
    assert not (found & 0x1FFF).any()
