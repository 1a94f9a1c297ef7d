"""The math functions and the casts of device code."""

from __future__ import annotations

import math

import numpy as np

from dlrmc.emulator import run_all_orders
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import launch_on

FILE = "numbers"


def expected_functions(x: float) -> list[float]:
    return [
        math.exp(x),
        math.tanh(x),
        math.erf(x),
        1 / math.sqrt(abs(x)),
        x * x - 1,
        x,  # fmaxf takes the number and not the NaN
        math.log(abs(x)),
        1 / (1 + math.exp(-x)),
        x / 3,
        min(x, 0.5) + 2,
        1.0,
        math.erf(x) + math.sqrt(2) + x * x,
    ]


def test_functions(build_file: BuildFile) -> None:
    x = np.linspace(-4, 5, 32, dtype=np.float32)
    out = np.zeros((32, 12), np.float32)
    run_all_orders(build_file(FILE), [launch_on("functions", [x, out])], [x, out])
    np.testing.assert_allclose(out, [expected_functions(float(v)) for v in x], rtol=3e-7)


def test_integers_and_casts(build_file: BuildFile) -> None:
    given = np.array([-2.5, np.inf, np.nan, -3.0], np.float32)
    out, wide = np.zeros(12, np.int32), np.zeros(3, np.int64)
    run_all_orders(build_file(FILE), [launch_on("integers", [given, out, wide], block=1)], [given, out, wide])
    bits = int(np.array([-2.5], np.float32).view(np.int32)[0])
    lowest, highest = -(2**31), 2**31 - 1
    np.testing.assert_array_equal(
        out, [-2, -2, -3, -2, highest, 0, bits, 8 + 31 + 32 + 4, lowest, 3, -4 + 3 + 7, 0]
    )
    np.testing.assert_array_equal(wide, [2**63 - 1, -4, 63 + 64])
