"""Samples of elementwise ops of one operand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional as F

from dlrmc.ir.types import DType
from tests.ir.ops.sample import ALL, FLOATS, NUMBERS, Sample, positive, special, values

# Ranks 0 to 5, and no elements.
SHAPES = ((), (7,), (3, 5), (2, 1, 4), (2, 3, 1, 2), (1, 2, 3, 2, 2), (0,), (3, 0, 2))

_FLOAT_OPS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": F.silu,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "erf": torch.erf,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "log1p": torch.log1p,
    "expm1": torch.expm1,
    "log2": torch.log2,
    "log10": torch.log10,
}
_NUMBER_OPS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": torch.relu,
    "neg": torch.neg,
    "abs": torch.abs,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "round": torch.round,
}
_POSITIVE = ("log", "sqrt", "rsqrt", "reciprocal")


def _float_ops() -> list[Sample]:
    samples: list[Sample] = []
    for name, function in _FLOAT_OPS.items():
        make = positive if name in _POSITIVE else values
        samples += [Sample(name, (make(DType.F32, *shape),), function) for shape in SHAPES]
        samples += [Sample(name, (make(dtype, 5, 7),), function) for dtype in FLOATS]
        samples += [Sample(name, (special(dtype),), function) for dtype in FLOATS]
    return samples


def _number_ops() -> list[Sample]:
    samples: list[Sample] = []
    for name, function in _NUMBER_OPS.items():
        samples += [Sample(name, (values(DType.F32, *shape),), function, is_exact=True) for shape in SHAPES]
        samples += [Sample(name, (special(dtype),), function, is_exact=True) for dtype in NUMBERS]
    return samples


def _nearest_tf32(x: torch.Tensor) -> torch.Tensor:
    exponent = torch.frexp(x.double()).exponent.clamp(min=-125)
    unit = torch.exp2(exponent.double() - 11)
    rounded = (torch.round(x.double() / unit) * unit).float()
    return torch.where(rounded.isfinite(), rounded, x)


def _round_tf32() -> list[Sample]:
    largest = np.finfo(np.float32).max
    ties = [1 + 2**-11, 1 + 3 * 2**-11, -1 - 2**-11]
    edges = [*ties, 1 + 2**-11 + 2**-23, 2 - 2**-23, 1e-39, largest, -largest]
    xs = [*(values(DType.F32, *shape) for shape in SHAPES), special(DType.F32), np.array(edges, np.float32)]
    return [Sample("round_tf32", (x,), _nearest_tf32, is_exact=True) for x in xs]


def _logical_not() -> list[Sample]:
    samples = [Sample("logical_not", (special(dtype),), torch.logical_not) for dtype in ALL]
    return samples + [Sample("logical_not", (values(DType.BOOL, *s),), torch.logical_not) for s in SHAPES]


def _gelu(x: torch.Tensor) -> torch.Tensor:
    """By f64: torch's f32 gelu of infinity is NaN where the CPU has AVX512, infinity elsewhere."""
    return F.gelu(x.double()).to(x.dtype)


def _with_attributes() -> list[Sample]:
    samples: list[Sample] = []
    for x in (*(special(dtype) for dtype in FLOATS), *(values(DType.F32, *shape) for shape in SHAPES)):
        # torch's own f16 and bf16 gelu differ from its f32 gelu by a unit in the last place.
        samples += [
            Sample("gelu", (x,), _gelu),
            Sample("gelu", (x,), lambda x: F.gelu(x, approximate="tanh"), {"approximate": "tanh"}),
            Sample("leaky_relu", (x,), F.leaky_relu),
            Sample("leaky_relu", (x,), lambda x: F.leaky_relu(x, 0.25), {"slope": 0.25}),
            Sample("elu", (x,), F.elu),
            Sample("elu", (x,), lambda x: F.elu(x, 0.5), {"alpha": 0.5}),
        ]
    return samples


def _clamp() -> list[Sample]:
    samples: list[Sample] = []
    for dtype in NUMBERS:
        x = special(dtype)
        samples += [
            Sample("clamp", (x,), lambda x: torch.clamp(x, 1, 3), {"min": 1.0, "max": 3.0}, is_exact=True),
            Sample("clamp", (x,), lambda x: torch.clamp(x, min=1), {"min": 1.0}, is_exact=True),
            Sample("clamp", (x,), lambda x: torch.clamp(x, max=1), {"max": 1.0}, is_exact=True),
            Sample("clamp", (x,), lambda x: torch.clamp(x, 3, 1), {"min": 3.0, "max": 1.0}, is_exact=True),
            Sample("clamp", (x,), lambda x: x, is_exact=True),
        ]
    for dtype in FLOATS:
        small = values(dtype, 64, low=-0.2, high=0.2)
        samples.append(
            Sample("clamp", (small,), lambda x: torch.clamp(x, 0.1, math.inf), {"min": 0.1}, is_exact=True)
        )
    return samples


_TORCH = {
    DType.F64: torch.float64,
    DType.F32: torch.float32,
    DType.F16: torch.float16,
    DType.BF16: torch.bfloat16,
    DType.I64: torch.int64,
    DType.I32: torch.int32,
    DType.U8: torch.uint8,
    DType.I8: torch.int8,
    DType.BOOL: torch.bool,
}


def _cast() -> list[Sample]:
    samples: list[Sample] = []
    for source in ALL:
        for to in ALL:
            x = values(source, 4, 9, high=100.0, low=-100.0 if to is not DType.U8 else 0.0)
            samples.append(Sample("cast", (x,), lambda x, to=to: x.to(_TORCH[to]), {"to": to}, is_exact=True))
    for to in (*FLOATS, DType.BOOL):
        for source in FLOATS:
            x = special(source)
            samples.append(Sample("cast", (x,), lambda x, to=to: x.to(_TORCH[to]), {"to": to}, is_exact=True))
    # A tie in f16 and in bf16 that a detour through f32 rounds the other way; integers that f32 cannot hold.
    ties = np.array([1 + 2**-11 + 2**-40, 1 + 2**-8 + 2**-40, 1 + 2**-11, 1e300, 65520.0])
    large = np.array([2**24 + 1, 2**53 + 1, -(2**62) - 1, 65519])
    for to in (DType.F32, DType.F16, DType.BF16):
        for x in (ties, large):
            samples.append(Sample("cast", (x,), lambda x, to=to: x.to(_TORCH[to]), {"to": to}, is_exact=True))
    halves = np.array([0.5, -0.5, 1.999, -1.999, 2.0**31, -(2.0**40)], np.float32)
    samples.append(Sample("cast", (halves,), lambda x: x.to(torch.int64), {"to": DType.I64}, is_exact=True))
    return samples


SAMPLES = (
    *_float_ops(),
    *_number_ops(),
    *_round_tf32(),
    *_logical_not(),
    *_with_attributes(),
    *_clamp(),
    *_cast(),
)
