"""Samples of products of matrices."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from dlrmc.ir.types import DType
from tests.ir.ops.sample import FLOATS, Sample, values

_ACTIVATIONS = {
    "none": lambda x: x,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "leaky_relu": F.leaky_relu,
}


def _w(n: int, k: int, dtype: DType = DType.F32) -> np.ndarray:
    return values(dtype, n, k, seed=1, low=-0.5, high=0.5)


def _linear(parts, w, bias):
    return F.linear(torch.cat(parts, -1), w, bias)


def _linears() -> list[Sample]:
    samples: list[Sample] = []
    for shape in ((5,), (3, 5), (2, 3, 5), (2, 1, 3, 5), (2, 1, 2, 1, 5), (0, 5), (3, 0, 5)):
        samples.append(
            Sample("linear", ((values(DType.F32, *shape),), _w(4, 5), values(DType.F32, 4)), _linear)
        )
    for dtype in FLOATS:
        operands = ((values(dtype, 3, 5),), _w(4, 5, dtype), values(dtype, 4))
        samples.append(Sample("linear", operands, _linear))
    for name, function in _ACTIVATIONS.items():
        x = values(DType.F32, 6, 5)
        samples.append(
            Sample(
                "linear",
                ((x,), _w(4, 5), values(DType.F32, 4)),
                lambda parts, w, bias, function=function: function(_linear(parts, w, bias)),
                {"act": name},
            )
        )
    return [*samples, *_linear_variants()]


def _linear_variants() -> list[Sample]:
    x, w, bias = values(DType.F32, 3, 5), _w(4, 5), values(DType.F32, 4)
    parts = (values(DType.F32, 3, 2), values(DType.F32, 3, 0), values(DType.F32, 3, 3, seed=2))
    wide = (values(DType.F32, 2, 3, 1), values(DType.F32, 2, 3, 4))
    nothing = values(DType.F32, 3, 0)
    nan = np.full(4, np.nan, np.float32)
    scale = {"alpha": 0.5, "beta": -2.0}
    return [
        Sample("linear", ((x,), w, None), _linear),
        Sample("linear", (parts, w, bias), _linear),
        Sample("linear", (wide, w, bias), _linear),
        Sample("linear", ((nothing,), _w(4, 0), bias), _linear),
        Sample("linear", ((x,), _w(0, 5), None), _linear),
        Sample("linear", ((x,), w, bias), lambda p, w, b: torch.addmm(b, p[0], w.t(), **scale), scale),
        Sample(
            "linear", ((x,), w, nan), lambda p, w, b: torch.addmm(b, p[0], w.t(), beta=0.0), {"beta": 0.0}
        ),
        Sample(
            "linear",
            ((x,), w, bias),
            lambda p, w, b: F.leaky_relu(_linear(p, w, b), 0.3),
            {"act": "leaky_relu", "slope": 0.3},
        ),
        Sample("linear", ((np.array([[np.inf, 1.0]], np.float32),), _w(3, 2), None), _linear),
    ]


def _products() -> list[Sample]:
    samples: list[Sample] = []
    for dtype in FLOATS:
        a, b, bias = values(dtype, 3, 5), values(dtype, 5, 2, seed=1), values(dtype, 2)
        samples += [Sample("mm", (a, b), torch.mm), Sample("addmm", (bias, a, b), torch.addmm)]
    for m, k, n in ((0, 3, 2), (2, 0, 3), (2, 3, 0), (1, 1, 1)):
        a, b = values(DType.F32, m, k), values(DType.F32, k, n)
        samples.append(Sample("mm", (a, b), torch.mm))
    a, b = values(DType.F32, 3, 5), values(DType.F32, 5, 2, seed=1)
    for shape in ((), (1,), (2,), (3, 1), (1, 2), (3, 2)):
        bias = values(DType.F32, *shape, seed=2)
        samples.append(
            Sample(
                "addmm",
                (bias, a, b),
                lambda c, a, b: torch.addmm(c, a, b, alpha=2.0, beta=0.5),
                {"alpha": 2.0, "beta": 0.5},
            )
        )
    nan = np.full(2, np.nan, np.float32)
    samples.append(
        Sample("addmm", (nan, a, b), lambda c, a, b: torch.addmm(c, a, b, beta=0.0), {"beta": 0.0})
    )
    return samples


def _bmm() -> list[Sample]:
    samples: list[Sample] = []
    for dtype in FLOATS:
        samples.append(Sample("bmm", (values(dtype, 2, 3, 4), values(dtype, 2, 4, 5)), torch.bmm))
    for batch, m, k, n in ((2, 3, 4, 5), (0, 1, 2, 3), (2, 0, 3, 1), (2, 3, 0, 1), (1, 1, 1, 1)):
        a, a_stored = values(DType.F32, batch, m, k), values(DType.F32, batch, k, m)
        b, b_stored = values(DType.F32, batch, k, n), values(DType.F32, batch, n, k)
        samples += [
            Sample("bmm", (a, b), torch.bmm),
            Sample("bmm", (a_stored, b), lambda a, b: torch.bmm(a.mT, b), {"trans_a": True}),
            Sample("bmm", (a, b_stored), lambda a, b: torch.bmm(a, b.mT), {"trans_b": True}),
            Sample(
                "bmm",
                (a_stored, b_stored),
                lambda a, b: torch.bmm(a.mT, b.mT),
                {"trans_a": True, "trans_b": True},
            ),
        ]
    return samples


SAMPLES = (*_linears(), *_products(), *_bmm())
