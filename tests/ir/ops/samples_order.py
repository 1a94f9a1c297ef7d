"""Samples of sorting and of running sums and products."""

from __future__ import annotations

import numpy as np
import torch

from dlrmc.ir.types import DType
from tests.ir.ops.sample import ALL, Sample, special, values

# Shapes and the dimension sorted along; ranks 1 to 5, and no elements.
_CASES = (
    ((7,), 0),
    ((4, 5), 0),
    ((4, 5), 1),
    ((2, 6, 3), 1),
    ((3, 40), 1),
    ((2, 2, 1, 5, 2), 3),
    ((0,), 0),
    ((0, 3), 1),
)


def _argsort(x: np.ndarray, dim: int, count: int, *, descending: bool) -> Sample:
    def of_torch(x):
        return torch.sort(x, dim=dim, descending=descending, stable=True)[1].narrow(dim, 0, count)

    return Sample("argsort", (x,), of_torch, {"dim": dim, "count": count, "descending": descending})


def _argsorts() -> list[Sample]:
    samples: list[Sample] = []
    for descending in (False, True):
        for shape, dim in _CASES:
            counts = dict.fromkeys((shape[dim], min(shape[dim], 1), shape[dim] // 2))
            for count in counts:
                # Whole numbers, so that some are equal.
                x = np.round(values(DType.F32, *shape))
                samples.append(_argsort(x, dim, count, descending=descending))
        for dtype in ALL:
            x = np.concatenate([special(dtype), special(dtype)])
            samples.append(_argsort(x, 0, len(x), descending=descending))
    return samples


def _running(name: str) -> list[Sample]:
    function = getattr(torch, name)
    cases = [(values(DType.F32, *shape), dim) for shape, dim in _CASES if shape[dim] < 10]
    cases += [(values(dtype, 3, 4), 1) for dtype in ALL]
    cases += [(np.array([1.0, np.inf, 2.0, np.nan, 3.0], np.float32), 0)]
    return [
        Sample(name, (x,), lambda x, dim=dim: function(x, dim), {"dim": dim}, tolerance=_tolerance(x))
        for x, dim in cases
    ]


def _tolerance(x: np.ndarray) -> float | None:
    """Eager rounds 16-bit running values at every step."""
    return {DType.F16: 4e-3, DType.BF16: 3e-2}.get(DType.of_numpy(x.dtype))


SAMPLES = (*_argsorts(), *_running("cumsum"), *_running("cumprod"))
