"""Samples of reads at ids, and of pairwise_dot."""

from __future__ import annotations

import numpy as np
import torch

from dlrmc.ir.ops.interaction import PAIRS
from dlrmc.ir.types import DType
from tests.ir.ops.sample import ALL, FLOATS, IDS, Sample, ids, values


def _index(x, indices):
    return torch.ops.aten.index.Tensor(x, list(indices))


def _indices() -> list[Sample]:
    x = values(DType.F32, 2, 3, 4, 5)

    def i(rows: int, *shape: int) -> np.ndarray:
        return ids(DType.I64, rows, *shape, low=-rows)

    cases = (
        (i(2, 6),),
        (i(2, 6), i(3, 6)),
        (None, i(3, 6)),
        (None, i(3, 6), i(4, 6)),
        (None, None, i(4, 2, 3), i(5, 2, 3)),
        (i(2, 6), None, i(4, 6)),
        (None, i(3, 6), None, i(5, 6)),
        (i(2, 6), i(3, 1), None, i(5, 4, 1)),
        (i(2, 2, 1), i(3, 3)),
        (i(2), i(3)),
        (i(2),),
        (i(2), None, i(4, 3)),
        (None, i(3), None, i(5)),
        (i(2, 0),),
        (i(2, 2, 0), None, i(4, 1)),
        (i(2, 2), i(3, 2), i(4, 2), i(5, 2)),
        (None, i(3, 2), None),
    )
    samples = [Sample("index", (x, case), _index, is_exact=True) for case in cases]
    samples += [Sample("index", (values(dtype, 3, 4), (i(3, 2, 2),)), _index, is_exact=True) for dtype in ALL]
    narrow = ids(DType.I32, 3, 5, low=-3)
    samples.append(Sample("index", (values(DType.F32, 3, 2), (narrow,)), _index, is_exact=True))
    rank5 = values(DType.F32, 2, 1, 3, 1, 2)
    return [*samples, Sample("index", (rank5, (None, None, i(3, 4), None, i(2, 4))), _index, is_exact=True)]


def _index_selects() -> list[Sample]:
    samples: list[Sample] = []
    for dtype in IDS:
        for shape, dim in (((5,), 0), ((5, 3), 0), ((3, 5), 1), ((2, 5, 3), 1), ((0, 5), 1)):
            for count in (0, 1, 7):
                samples.append(
                    Sample(
                        "index_select",
                        (values(DType.F32, *shape), ids(dtype, 5, count)),
                        lambda x, ids, dim=dim: torch.index_select(x, dim, ids),
                        {"dim": dim},
                        is_exact=True,
                    )
                )
    for dtype in ALL:
        operands = (values(dtype, 5, 2), ids(DType.I64, 5, 4))
        samples.append(
            Sample("index_select", operands, lambda x, i: x.index_select(0, i), {"dim": 0}, is_exact=True)
        )
    return samples


def _gathers() -> list[Sample]:
    samples: list[Sample] = []
    cases = (
        ((5,), (3,), 0),
        ((5, 3), (2, 3), 0),
        ((5, 3), (4, 6), 1),
        ((2, 3, 4), (1, 7, 2), 1),
        ((2, 3), (0, 3), 0),
    )
    for dtype in IDS:
        for shape, wanted, dim in cases:
            samples.append(
                Sample(
                    "gather",
                    (values(DType.F32, *shape), ids(dtype, shape[dim], *wanted)),
                    lambda x, ids, dim=dim: torch.gather(x, dim, ids.long()),
                    {"dim": dim},
                    is_exact=True,
                )
            )
    for dtype in ALL:
        operands = (values(dtype, 5, 2), ids(DType.I64, 2, 4, 3))
        samples.append(Sample("gather", operands, lambda x, i: x.gather(1, i), {"dim": 1}, is_exact=True))
    return samples


def _dots(parts, pairs):
    features = torch.cat([part if part.ndim == 3 else part.unsqueeze(1) for part in parts], 1)
    diagonal = {"strict_lower": -1, "lower": 0, "strict_upper": 1, "upper": 0}[pairs]
    triangle = torch.tril_indices if pairs.endswith("lower") else torch.triu_indices
    i, j = triangle(features.shape[1], features.shape[1], diagonal)
    return torch.bmm(features, features.mT)[:, i, j]


def _pairwise_dots() -> list[Sample]:
    samples: list[Sample] = []
    shapes = (
        ((3, 4), (3, 4)),
        ((3, 4), (3, 5, 4)),
        ((3, 2, 4), (3, 4), (3, 1, 4)),
        ((3, 4),),
        ((3, 0, 4), (3, 2, 4)),
        ((0, 3, 4),),
        ((2, 3, 0),),
        ((1, 27, 16),),
    )
    for pairs in PAIRS:
        for case in shapes:
            parts = tuple(values(DType.F32, *shape, seed=n) for n, shape in enumerate(case))
            samples.append(
                Sample(
                    "pairwise_dot",
                    (parts,),
                    lambda parts, pairs=pairs: _dots(parts, pairs),
                    {"pairs": pairs},
                    tolerance=4e-6,
                )
            )
    for dtype in FLOATS:
        parts = (values(dtype, 3, 4), values(dtype, 3, 2, 4))
        samples.append(Sample("pairwise_dot", (parts,), lambda parts: _dots(parts, "strict_lower")))
    return samples


SAMPLES = (*_indices(), *_index_selects(), *_gathers(), *_pairwise_dots())
