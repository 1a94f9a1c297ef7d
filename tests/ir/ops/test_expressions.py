"""The CUDA expressions of elementwise ops, and C literals, as text."""

from __future__ import annotations

import math

import pytest

from dlrmc.ir.ops.activations import literal
from dlrmc.ir.types import DType
from tests.ir.ops.sample import expression

CASES = (
    ("relu", DType.F32, {}, "dlrmc_relu(a)"),
    ("tanh", DType.F32, {}, "tanhf(a)"),
    ("tanh", DType.F16, {}, "tanhf(a)"),
    ("tanh", DType.F64, {}, "tanh(a)"),
    ("gelu", DType.F32, {"approximate": "tanh"}, "dlrmc_gelu_tanh(a)"),
    ("leaky_relu", DType.F32, {"slope": 0.1}, "dlrmc_leaky_relu(a, 0.1f)"),
    ("leaky_relu", DType.F64, {"slope": -2}, "dlrmc_leaky_relu(a, (-2.0))"),
    ("elu", DType.BF16, {}, "dlrmc_elu(a, 1.0f)"),
    ("neg", DType.F32, {}, "(-a)"),
    ("neg", DType.I32, {}, "dlrmc_sub((int)0, a)"),
    ("abs", DType.F64, {}, "fabs(a)"),
    ("abs", DType.F32, {}, "fabsf(a)"),
    ("abs", DType.I64, {}, "(a < 0 ? dlrmc_sub((long long)0, a) : a)"),
    ("floor", DType.I64, {}, "a"),
    ("ceil", DType.F16, {}, "ceilf(a)"),
    ("round", DType.F64, {}, "rint(a)"),
    ("round", DType.I32, {}, "a"),
    ("log1p", DType.F32, {}, "log1pf(a)"),
    ("rsqrt", DType.F32, {}, "(1.0f / sqrtf(a))"),
    ("reciprocal", DType.F64, {}, "(1.0 / a)"),
    ("logical_not", DType.F32, {}, "(a == 0)"),
    ("clamp", DType.F32, {}, "a"),
    ("clamp", DType.F32, {"min": 0.5}, "dlrmc_maximum(a, 0.5f)"),
    ("clamp", DType.F64, {"min": -1.0, "max": 1.0}, "dlrmc_minimum(dlrmc_maximum(a, (-1.0)), 1.0)"),
    ("clamp", DType.U8, {"max": 7.0}, "dlrmc_minimum(a, (unsigned char)(7LL))"),
    ("clamp", DType.I64, {"max": -math.inf}, "dlrmc_minimum(a, (long long)(-9223372036854775807LL - 1))"),
    ("cast", DType.F32, {"to": DType.I64}, "((long long)a)"),
    ("cast", DType.F32, {"to": DType.U8}, "((unsigned char)(long long)a)"),
    ("cast", DType.F32, {"to": DType.BOOL}, "(a != 0)"),
    ("cast", DType.I64, {"to": DType.BF16}, "((float)a)"),
    ("cast", DType.F64, {"to": DType.F16}, "((float)a)"),
)
BINARY = (
    ("add", DType.F32, "(a + b)"),
    ("add", DType.I64, "dlrmc_add(a, b)"),
    ("add", DType.BOOL, "(a || b)"),
    ("mul", DType.BOOL, "(a && b)"),
    ("mul", DType.U8, "dlrmc_mul(a, b)"),
    ("sub", DType.F64, "(a - b)"),
    ("div", DType.F16, "(a / b)"),
    ("pow", DType.F32, "dlrmc_pow(a, b)"),
    ("floor_div", DType.I64, "dlrmc_floor_div(a, b)"),
    ("bitwise_xor", DType.U8, "dlrmc_bitwise_xor(a, b)"),
    ("shift_left", DType.I32, "dlrmc_shift_left(a, b)"),
    ("atan2", DType.F64, "dlrmc_atan2(a, b)"),
    ("maximum", DType.I32, "dlrmc_maximum(a, b)"),
    ("le", DType.I64, "(a <= b)"),
    ("logical_and", DType.BOOL, "(a && b)"),
    ("logical_or", DType.F32, "((a != 0) || (b != 0))"),
)


@pytest.mark.parametrize(("name", "dtype", "attributes", "text"), CASES)
def test_unary(name, dtype, attributes, text):
    assert expression(name, ("a",), dtype, **attributes) == text


@pytest.mark.parametrize(("name", "dtype", "text"), BINARY)
def test_binary(name, dtype, text):
    assert expression(name, ("a", "b"), dtype) == text


def test_arguments_that_are_expressions_are_put_in_parentheses():
    assert expression("neg", ("-x",), DType.F32) == "(-(-x))"
    assert expression("mul", ("x + 1", "f(y)"), DType.F32) == "((x + 1) * (f(y)))"
    assert expression("where", ("p == q", "x", "y"), DType.F32) == "((p == q) ? x : y)"


@pytest.mark.parametrize(
    ("value", "single", "double"),
    [
        (1.0, "1.0f", "1.0"),
        (0.1, "0.1f", "0.1"),
        (1e-30, "1e-30f", "1e-30"),
        (-2.5, "(-2.5f)", "(-2.5)"),
        (1e300, "(1.0f / 0.0f)", "1e+300"),
        (-math.inf, "(-1.0f / 0.0f)", "(-1.0 / 0.0)"),
        (16777217.0, "1.6777216e+07f", "16777217.0"),
    ],
)
def test_literals(value, single, double):
    assert literal(value, DType.F32) == single
    assert literal(value, DType.BF16) == single
    assert literal(value, DType.F64) == double
