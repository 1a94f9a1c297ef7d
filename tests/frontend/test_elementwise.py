"""Elementwise operators and type promotion, against eager."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.frontend.imported import Family, assert_equals_eager, run_family

X = torch.tensor([[0.5, -1.25, 2.0], [3.0, -0.1, 0.0]])
POSITIVE = X.abs() + 0.5
INTEGERS = torch.tensor([[7, -3, 4], [0, 9, -8]])
FLAGS = torch.tensor([[True, False, True], [False, False, True]])
HALF = X.half()
ARGS = (X, POSITIVE, INTEGERS, FLAGS, HALF)

CASES: dict[str, Callable[..., Any]] = {
    "relu": lambda x, p, i, b, h: F.relu(x),
    "relu_of_integers": lambda x, p, i, b, h: F.relu(i),
    "sigmoid": lambda x, p, i, b, h: torch.sigmoid(x),
    "sigmoid_of_integers": lambda x, p, i, b, h: torch.sigmoid(i),
    "tanh": lambda x, p, i, b, h: torch.tanh(x),
    "silu": lambda x, p, i, b, h: F.silu(x),
    "gelu": lambda x, p, i, b, h: F.gelu(x),
    "gelu_tanh": lambda x, p, i, b, h: F.gelu(x, approximate="tanh"),
    "leaky_relu": lambda x, p, i, b, h: F.leaky_relu(x, 0.2),
    "elu": lambda x, p, i, b, h: F.elu(x, 0.7),
    "selu": lambda x, p, i, b, h: F.selu(x),
    "relu6": lambda x, p, i, b, h: F.relu6(x * 4),
    "hardswish": lambda x, p, i, b, h: F.hardswish(x),
    "prelu": lambda x, p, i, b, h: F.prelu(x, torch.tensor([0.3])),
    "sqrt_of_integers": lambda x, p, i, b, h: torch.sqrt(i.abs()),
    "rsqrt": lambda x, p, i, b, h: torch.rsqrt(p),
    "exp_log": lambda x, p, i, b, h: torch.log(p) + torch.exp(x),
    "abs_neg": lambda x, p, i, b, h: -x.abs() + i.abs(),
    "reciprocal": lambda x, p, i, b, h: p.reciprocal(),
    "erf_sin_cos": lambda x, p, i, b, h: torch.erf(x) + torch.sin(x) * torch.cos(x),
    "floor": lambda x, p, i, b, h: torch.floor(x),
    "floor_of_integers": lambda x, p, i, b, h: torch.floor(i),
    "floor_ceil_trunc_round": lambda x, p, i, b, h: (torch.ceil(x), torch.trunc(i), torch.round(x * 2)),
    "round_to_decimals": lambda x, p, i, b, h: (torch.round(x, decimals=1), torch.round(x * 90, decimals=-1)),
    "sign": lambda x, p, i, b, h: (torch.sign(x), torch.sign(i), torch.sgn(h)),
    "not_finite": lambda x, p, i, b, h: (
        *(f(x / x.abs().floor()) for f in (torch.isnan, torch.isinf, torch.isfinite)),
        torch.isinf(i),
    ),
    "nan_to_num": lambda x, p, i, b, h: torch.nan_to_num(x / 0.0),
    "log1p_expm1": lambda x, p, i, b, h: torch.log1p(p) + torch.expm1(x),
    "log2_log10": lambda x, p, i, b, h: torch.log2(p) + torch.log10(p) + torch.log2(i.abs() + 1),
    "angles": lambda x, p, i, b, h: torch.tan(x) + torch.atan(x) + torch.asin(x / 4) + torch.acos(x / 4),
    "hyperbolic": lambda x, p, i, b, h: torch.sinh(x) + torch.cosh(x) + torch.asinh(x) + torch.acosh(p + 1),
    "atanh_atan2": lambda x, p, i, b, h: torch.atanh(x / 4) + torch.atan2(x, p),
    "softplus_mish": lambda x, p, i, b, h: F.softplus(x) + F.mish(x),
    "floor_division": lambda x, p, i, b, h: (x // p, i // 3, i // -4, torch.floor_divide(x, 0.5)),
    "truncated_division": lambda x, p, i, b, h: (
        torch.div(i, 3, rounding_mode="trunc"),
        torch.div(x, p, rounding_mode="trunc"),
    ),
    "remainder": lambda x, p, i, b, h: (x % p, i % 4, torch.remainder(i, -4), 7 % (i.abs() + 1), x % 0.75),
    "fmod": lambda x, p, i, b, h: (torch.fmod(x, p), torch.fmod(i, 4)),
    "division_of_mixed_dtypes": lambda x, p, i, b, h: (
        i // 1.5,
        i % p,
        torch.div(i, x + 9, rounding_mode="floor"),
    ),
    "clamp_low": lambda x, p, i, b, h: x.clamp(min=0.25),
    "clamp_high_infinite": lambda x, p, i, b, h: x.clamp(-1.0, float("inf")),
    "clamp_of_integers": lambda x, p, i, b, h: i.clamp(-2, 5),
    "clamp_of_integers_by_fraction": lambda x, p, i, b, h: i.clamp(0.5, 4.5),
    "clamp_of_integers_by_more_than_53_bits": lambda x, p, i, b, h: (
        (i << 60).clamp(-(2**53) - 1, 2**53 + 1),
        i.clamp(min=2**61 + 1),
        i.clamp(5, 2**63 - 1),
    ),
    "clamp_by_tensor": lambda x, p, i, b, h: torch.clamp(x, -p, p),
    "hardtanh": lambda x, p, i, b, h: F.hardtanh(x, -0.5, 0.75),
    "add_alpha": lambda x, p, i, b, h: torch.add(x, p, alpha=0.5),
    "add_integer_alpha": lambda x, p, i, b, h: torch.add(i, i, alpha=3),
    "sub_alpha": lambda x, p, i, b, h: torch.sub(x, p, alpha=2),
    "sub_scalar_first": lambda x, p, i, b, h: 1 - x,
    "rsub": lambda x, p, i, b, h: torch.rsub(x, 2.0, alpha=3),
    "div_of_integers_is_true_division": lambda x, p, i, b, h: i / 4,
    "div_then_long_keeps_the_float_rounding": lambda x, p, i, b, h: (i.abs() * 5592407 / 3).long(),
    "mul_bool_float": lambda x, p, i, b, h: b * x,
    "mul_int_bool": lambda x, p, i, b, h: i * b,
    "add_bool_bool": lambda x, p, i, b, h: b + ~b,
    "mul_bool_bool": lambda x, p, i, b, h: b * b,
    "add_int_float_scalar": lambda x, p, i, b, h: i + 0.5,
    "add_int32_int64": lambda x, p, i, b, h: i.int() + i,
    "add_half_float": lambda x, p, i, b, h: h + x,
    "mul_half_by_inexact_scalar": lambda x, p, i, b, h: h * 0.1,
    "add_half_by_exact_scalar": lambda x, p, i, b, h: h + 0.5,
    "add_half_float_scalar_tensor": lambda x, p, i, b, h: h + torch.tensor(0.25),
    "pow_scalar": lambda x, p, i, b, h: x**2,
    "pow_of_integers": lambda x, p, i, b, h: i**3,
    "pow_base": lambda x, p, i, b, h: 2**x,
    "pow_fraction": lambda x, p, i, b, h: p**0.5,
    "pow_roots": lambda x, p, i, b, h: (
        *(torch.tensor([-math.inf, math.inf, -0.0, 0.0, 4.0, -1.0]) ** e for e in (0.5, -0.5, -1, -1.0)),
        i.abs() ** 0.5,
        h.abs() ** -0.5,
    ),
    "pow_tensor": lambda x, p, i, b, h: p**x,
    "maximum_minimum": lambda x, p, i, b, h: torch.maximum(x, p) - torch.minimum(x, torch.tensor(0.0)),
    "fmax_fmin": lambda x, p, i, b, h: (
        torch.fmax(x / x.floor(), p),
        torch.fmin(p, x / x.floor()),
        torch.fmin(x / 0, x / 0),
        torch.fmax(i, i.int() * 2),
    ),
    "exp2": lambda x, p, i, b, h: (torch.exp2(x), torch.exp2(i)),
    "compare_scalar": lambda x, p, i, b, h: (x > 0.5, x >= 2, x < 0, x <= 0, x == 2.0, x != 2.0),
    "compare_int_with_float": lambda x, p, i, b, h: i > 3.5,
    "compare_mixed": lambda x, p, i, b, h: (i == x, h < x, b == i),
    "not_equal_of_ids": lambda x, p, i, b, h: i.ne(0),
    "logical": lambda x, p, i, b, h: (torch.logical_and(x, b), torch.logical_or(i, b), torch.logical_not(x)),
    "logical_xor": lambda x, p, i, b, h: torch.logical_xor(b, i > 0),
    "bitwise_of_bool": lambda x, p, i, b, h: (b & (x > 0), b | (x > 0), ~b),
    "bitwise_xor_of_bool": lambda x, p, i, b, h: b ^ (x > 0),
    "bitwise_of_integers": lambda x, p, i, b, h: (i & 5, i | 8, i ^ (i >> 2), ~i, 6 & i, i & i.int()),
    "bitwise_of_bytes": lambda x, p, i, b, h: (~i.to(torch.uint8), i.to(torch.uint8) ^ 3, i & b),
    "shifts": lambda x, p, i, b, h: (i << 3, i >> 1, i.int() << 31, i >> i.abs(), i.int() >> 40),
    "hash_of_ids": lambda x, p, i, b, h: ((i ^ (i >> 15)) * 0x2C1B3C6D & 0x7FFFFFFF) % 7,
    "where_tensors": lambda x, p, i, b, h: torch.where(b, x, p),
    "where_scalars": lambda x, p, i, b, h: torch.where(b, 0, 3),
    "where_promotes": lambda x, p, i, b, h: torch.where(x > 0, i, x),
    "where_scalar_tensors": lambda x, p, i, b, h: torch.where(b, torch.tensor(0), torch.tensor(3.5)),
    "masked_fill": lambda x, p, i, b, h: x.masked_fill(b, -1e9),
    "cast": lambda x, p, i, b, h: (x.long(), i.float(), x.to(torch.bool), b.int(), x.half(), i.double()),
    "cast_to_bfloat16": lambda x, p, i, b, h: x.bfloat16(),
    "no_op_cast": lambda x, p, i, b, h: x.to(torch.float32) + 0,
    "identities": lambda x, p, i, b, h: F.dropout(x.clone().detach().contiguous(), 0.5, training=False) + 0,
    "in_place": lambda x, p, i, b, h: F.relu(x.clone(), inplace=True).add_(1).mul_(p),
    "broadcast": lambda x, p, i, b, h: x[:, None, :] * p[None, :, :1] + x[0],
    "square_and_rank_0": lambda x, p, i, b, h: x.sum().square() / i.sum(),
}


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


def test_python_scalars_become_constants_of_the_result_dtype() -> None:
    run = run_family({"f": lambda i: i + 0.5}, (INTEGERS,))
    (constant,) = [node for node in run.imported.graph.nodes if node.is_op("const")]
    assert str(constant.type) == "f32[]"
    assert float(constant.value) == 0.5


def test_identities_leave_no_node() -> None:
    run = run_family(
        {"f": lambda x: F.dropout(x.clone().detach().contiguous().float(), 0.3, False) * 2}, (X,)
    )
    assert [node.op.name for node in run.imported.graph.nodes] == ["input", "const", "mul"]


def test_an_inexact_scalar_is_applied_to_half_in_float32() -> None:
    run = run_family({"f": lambda h: h * 0.1}, (HALF,))
    ops = [node.op.name for node in run.imported.graph.nodes if not node.is_op("input", "const")]
    assert ops == ["cast", "mul", "cast"]
    exact = run_family({"f": lambda h: h * 0.5}, (HALF,))
    assert [n.op.name for n in exact.imported.graph.nodes if not n.is_op("input", "const")] == ["mul"]


def test_a_comparison_promotes_both_sides() -> None:
    run = run_family({"f": lambda i, x: i < x}, (INTEGERS, X))
    (compare,) = [node for node in run.imported.graph.nodes if node.is_op("lt")]
    assert [str(operand.type.dtype) for operand in compare.inputs] == ["f32", "f32"]
