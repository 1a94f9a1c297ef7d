"""Samples of elementwise ops of two operands, and of `where`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from dlrmc.ir.types import DType
from tests.ir.ops.sample import ALL, FLOATS, INTEGERS, NUMBERS, Sample, pairs, positive, special, values

# Pairs of shapes that broadcast, ranks 0 to 5, and no elements.
SHAPES = (
    ((), ()),
    ((3,), ()),
    ((), (2, 3)),
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((4, 2, 3), (2, 1)),
    ((1, 2, 1, 3), (2, 2, 2, 1)),
    ((2, 1, 2, 1, 2), (1, 3, 1, 2, 2)),
    ((0, 3), (3,)),
    ((2, 0), (1, 1)),
)

Function = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

_ARITHMETIC: dict[str, Function] = {"sub": torch.sub}
_ANY: dict[str, Function] = {
    "add": torch.add,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
}


def _exact() -> list[Sample]:
    samples: list[Sample] = []
    for name, function in (_ARITHMETIC | _ANY).items():
        for a, b in SHAPES:
            operands = (values(DType.F32, *a), values(DType.F32, *b, seed=1))
            samples.append(Sample(name, operands, function, is_exact=True))
        for dtype in ALL if name in _ANY else NUMBERS:
            samples.append(Sample(name, pairs(special(dtype)), function, is_exact=True))
            operands = (values(dtype, 9), values(dtype, 4, 9, seed=1))
            samples.append(Sample(name, operands, function, is_exact=True))
    return samples


def _div() -> list[Sample]:
    samples = [
        Sample("div", (values(DType.F32, *a), positive(DType.F32, *b, seed=1)), torch.div, is_exact=True)
        for a, b in SHAPES
    ]
    return samples + [Sample("div", pairs(special(dtype)), torch.div, is_exact=True) for dtype in FLOATS]


def _pow() -> list[Sample]:
    samples = [Sample("pow", (positive(DType.F32, *a), values(DType.F32, *b)), torch.pow) for a, b in SHAPES]
    samples += [Sample("pow", pairs(special(dtype)), torch.pow) for dtype in FLOATS]
    # One exponent for all: still a power, and no root, which differs at -inf and -0.0.
    samples += [
        Sample("pow", (special(DType.F32), np.array(exponent, np.float32)), torch.pow)
        for exponent in (0.5, -0.5, -1.0)
    ]
    for dtype in INTEGERS:
        base = np.array([0, 1, 2, 3, 7, 100, 11], dtype.numpy)
        exponents = np.arange(8, dtype=dtype.numpy).reshape(8, 1)
        samples.append(Sample("pow", (base, exponents), torch.pow, is_exact=True))
        if dtype is not DType.U8:
            signed = np.array([-1, -2, 1, 2, 0], dtype.numpy)
            exponents = np.array([[-1], [-2], [-3], [0], [1], [2], [3]], dtype.numpy)
            samples.append(Sample("pow", (signed, exponents), torch.pow, is_exact=True))
    return samples


def _where() -> list[Sample]:
    samples = [
        Sample(
            "where", (values(DType.BOOL, 4, 1), values(dtype, 3), values(dtype, 2, 1, 3, seed=1)), torch.where
        )
        for dtype in ALL
    ]
    for a, b in SHAPES:
        operands = (values(DType.BOOL, *a), values(DType.F32, *b), values(DType.F32, *a))
        samples.append(Sample("where", operands, torch.where, is_exact=True))
    nan = np.full(3, np.nan, np.float32)
    operands = (np.array([True, False, True]), nan, np.ones(3, np.float32))
    samples.append(Sample("where", operands, torch.where, is_exact=True))
    return samples


_DIVISIONS: dict[str, Function] = {
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "floor_div": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "trunc_div": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
}


def _divisions() -> list[Sample]:
    samples: list[Sample] = []
    for name, function in _DIVISIONS.items():
        for a, b in SHAPES:
            operands = (values(DType.F32, *a), values(DType.F32, *b, seed=1))
            samples.append(Sample(name, operands, function, is_exact=True))
        samples += [Sample(name, pairs(special(dtype)), function) for dtype in FLOATS]
        for dtype in INTEGERS:
            a, b = pairs(np.concatenate([special(dtype), np.arange(-9, 10).astype(dtype.numpy)]))
            # The lowest integer has no quotient by -1, and eager raises for a divisor of 0.
            is_fine = (b != 0) & ((b + 1 != 0) | (a > np.iinfo(dtype.numpy.name).min))
            samples.append(Sample(name, (a[is_fine], b[is_fine]), function, is_exact=True))
    return samples


_CONNECTIVES: dict[str, Function] = {
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
}
_SHIFTS: dict[str, Function] = {
    "shift_left": torch.bitwise_left_shift,
    "shift_right": torch.bitwise_right_shift,
}


def _bits() -> list[Sample]:
    samples: list[Sample] = []
    for dtype in INTEGERS:
        numbers = np.concatenate([special(dtype), np.arange(-9, 10).astype(dtype.numpy)])
        samples += [Sample(name, pairs(numbers), f, is_exact=True) for name, f in _CONNECTIVES.items()]
        # Counts below 0 and beyond the bits too.
        counts = np.array([0, 1, 3, 7, 8, 15, 31, 32, 63, 64, 100, -1], np.int64).astype(dtype.numpy)
        grid = (numbers, counts.reshape(-1, 1))
        samples += [Sample(name, grid, f, is_exact=True) for name, f in _SHIFTS.items()]
    for name, function in (_CONNECTIVES | _SHIFTS).items():
        for a, b in SHAPES:
            operands = tuple(np.asarray(x) for x in (values(DType.I64, *a), values(DType.I64, *b, seed=1)))
            samples.append(Sample(name, operands, function, is_exact=True))
    return samples


def _atan2() -> list[Sample]:
    samples = [
        Sample("atan2", (values(DType.F32, *a), values(DType.F32, *b)), torch.atan2) for a, b in SHAPES
    ]
    return samples + [Sample("atan2", pairs(special(dtype)), torch.atan2) for dtype in FLOATS]


SAMPLES = (*_exact(), *_div(), *_pow(), *_where(), *_divisions(), *_bits(), *_atan2())
