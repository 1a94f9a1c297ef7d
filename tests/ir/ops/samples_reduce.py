"""Samples of reductions, softmax and layer norm."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from dlrmc.ir.types import DType
from tests.ir.ops.sample import ALL, FLOATS, Sample, special, values

_DIMS = (
    ((), ()),
    ((5,), (0,)),
    ((3, 4), (0,)),
    ((3, 4), (1,)),
    ((3, 4), (0, 1)),
    ((2, 3, 4), (0, 2)),
    ((2, 3, 4), (1, 2)),
    ((2, 3, 2, 2), (1, 3)),
    ((2, 1, 3, 1, 2), (0, 2, 4)),
)
_EMPTY = (((0,), (0,)), ((2, 0, 3), (1,)), ((0, 3), (1,)))


def _prod(x, dims, keepdim):
    """torch.prod over several dimensions, which torch reduces one at a time."""
    for dim in reversed(dims):
        x = torch.prod(x, dim, keepdim)
    return x if dims else torch.prod(x)


_FUNCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "amax": torch.amax,
    "amin": torch.amin,
    "prod": _prod,
}


def _reduction(name: str, x: np.ndarray, dims: tuple[int, ...], keepdim: bool = False) -> Sample:
    function = _FUNCTIONS[name]
    return Sample(
        name,
        (x,),
        lambda x: function(x, dims, keepdim),
        {"dims": dims, "keepdim": keepdim},
        is_exact=name.startswith("am") or not DType.of_numpy(x.dtype).is_float,
    )


def _reductions() -> list[Sample]:
    samples: list[Sample] = []
    for name in _FUNCTIONS:
        for shape, dims in _DIMS:
            samples += [
                _reduction(name, values(DType.F32, *shape), dims, keepdim) for keepdim in (False, True)
            ]
        for dtype in FLOATS if name == "mean" else ALL:
            samples.append(_reduction(name, values(dtype, 3, 5, low=-2, high=2), (1,)))
            samples.append(_reduction(name, special(dtype), (0,)))
        for shape, dims in _EMPTY:
            if name in ("amax", "amin") and shape[dims[0]] == 0:
                continue
            samples.append(_reduction(name, values(DType.F32, *shape), dims))
    large = np.full((2, 3), 2**62)
    return [*samples, _reduction("sum", large, (1,)), _reduction("prod", large, (1,))]


def _softmaxes() -> list[Sample]:
    samples: list[Sample] = []
    for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        for shape, dim in (((), 0), ((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1), ((2, 3, 2, 4), 3)):
            x = values(DType.F32, *shape, low=-30, high=30)
            samples.append(Sample(name, (x,), lambda x, f=function, dim=dim: f(x, dim), {"dim": dim}))
        for dtype in FLOATS:
            x = values(dtype, 4, 6)
            samples.append(Sample(name, (x,), lambda x, f=function: f(x, 1), {"dim": 1}))
        for x in (
            np.array([[np.nan, 1.0], [np.inf, 1.0], [-np.inf, 1.0], [-np.inf, -np.inf]], np.float32),
            values(DType.F32, 0, 3),
            values(DType.F32, 3, 0),
        ):
            samples.append(Sample(name, (x,), lambda x, f=function: f(x, 1), {"dim": 1}))
    return samples


def _layer_norms() -> list[Sample]:
    def norm(x, w, b, eps=1e-5):
        return F.layer_norm(x, x.shape[-1:], w, b, eps)

    samples: list[Sample] = []
    for shape in ((6,), (3, 6), (2, 3, 6), (0, 6), (1, 2, 1, 3, 6)):
        w, b = values(DType.F32, 6), values(DType.F32, 6, seed=1)
        for weight, bias in ((w, b), (w, None), (None, b), (None, None)):
            samples.append(
                Sample("layer_norm", (values(DType.F32, *shape), weight, bias), norm, {"eps": 1e-5})
            )
    for dtype in FLOATS:
        operands = (values(dtype, 4, 9), values(dtype, 9), values(dtype, 9, seed=1))
        samples.append(Sample("layer_norm", operands, norm, {"eps": 1e-5}))
    x = values(DType.F32, 4, 9)
    for eps in (1e-8, 1e-12, 0.5):
        samples.append(
            Sample("layer_norm", (x, None, None), lambda x, w, b, e=eps: norm(x, w, b, e), {"eps": eps})
        )
    return samples


SAMPLES = (*_reductions(), *_softmaxes(), *_layer_norms())
