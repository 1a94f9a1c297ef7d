import math

import numpy as np
import pytest

from dlrmc.codegen.scalar_types import bits_literal, literal, loaded, rounded, stored, stored_literal
from dlrmc.ir.types import DType


def lit(value, dtype):
    return literal(np.array(value).astype(dtype.numpy), dtype)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1.0, DType.F32, "1.0f"),
        (-0.0, DType.F32, "(-0.0f)"),
        (0.1, DType.F32, "0.1f"),
        (1e-8, DType.F32, "1e-08f"),
        (0.1, DType.F64, "0.1"),
        (0.1, DType.F16, "0.099975586f"),
        (0.1, DType.BF16, "0.100097656f"),
        (math.inf, DType.F32, "infinity<float>()"),
        (-math.inf, DType.F64, "-infinity<double>()"),
        (math.nan, DType.F16, "not_a_number<float>()"),
        (7, DType.I32, "7"),
        (-7, DType.I64, "(-7ll)"),
        (2**62, DType.I64, f"{2**62}ll"),
        (-(2**63), DType.I64, f"({-(2**63) + 1}ll - 1)"),
        (-(2**31), DType.I32, f"({-(2**31) + 1} - 1)"),
        (255, DType.U8, "255"),
        (-128, DType.I8, "(-128)"),
        (True, DType.BOOL, "true"),
    ],
)
def test_literals(value, dtype, text):
    assert lit(value, dtype) == text


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64])
def test_float_literals_are_exact(dtype):
    numbers = np.random.default_rng(0).standard_normal(2000) * 10.0 ** np.random.default_rng(1).integers(
        -40, 38, 2000
    )
    for value in numbers.astype(dtype.numpy):
        text = literal(value, dtype).strip("()").removesuffix("f")
        assert np.array(text).astype(dtype.numpy) == value


def test_stored_literals_are_constant_expressions():
    assert stored_literal(np.float16(1.5), DType.F16) == "f16{0x3e00}"
    assert stored_literal(np.array(1.5).astype(DType.BF16.numpy), DType.BF16) == "bf16{0x3fc0}"
    assert stored_literal(np.array(True), DType.BOOL) == "1"
    assert bits_literal(np.float32(-np.inf), DType.F32) == "0xff800000"
    assert bits_literal(np.float64(np.nan), DType.F64) == "0x7ff8000000000000"


def test_values_go_to_memory_and_back_through_their_storage_type():
    assert loaded("x[i]", DType.BF16) == "to_float(x[i])"
    assert loaded("x[i]", DType.BOOL) == "x[i] != 0"
    assert loaded("x[i]", DType.I8) == "x[i]"
    assert stored("v", DType.F16) == "from_float<f16>(v)"
    assert stored("v", DType.BOOL) == "(v) ? 1 : 0"
    assert rounded("v", DType.BF16) == "round_to<bf16>(v)"
    assert rounded("v", DType.F32) == "v"
