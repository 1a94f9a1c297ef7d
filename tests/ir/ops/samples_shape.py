"""Samples of ops that move values."""

from __future__ import annotations

import numpy as np
import torch

from dlrmc.ir.ops import shape
from dlrmc.ir.types import DType
from tests.ir.ops.sample import ALL, Sample, values

# `cat`, and what passes make of it that computes the same.
_CATS = tuple(op.name for op in shape.OPS if isinstance(op, shape.Cat))


def _x(*sizes: int) -> np.ndarray:
    return values(DType.F32, *sizes)


def _views() -> list[Sample]:
    cases = (
        ((), ()),
        ((), (1, 1)),
        ((6,), (2, 3)),
        ((2, 3), (3, 2)),
        ((2, 3, 4), (6, 4)),
        ((2, 3, 4), (1, 2, 3, 2, 2)),
        ((1,), ()),
        ((0, 3), (3, 0, 7)),
    )
    return [
        Sample("view", (_x(*old),), lambda x, new=new: x.reshape(new), {"shape": new}, is_exact=True)
        for old, new in cases
    ]


def _permutes() -> list[Sample]:
    perms = ((), (0,), (1, 0), (0, 2, 1), (2, 0, 1), (3, 1, 0, 2), (4, 0, 3, 1, 2))
    sizes = (2, 3, 4, 1, 5)
    samples = [
        Sample("permute", (_x(*sizes[: len(p)]),), lambda x, p=p: x.permute(p), {"perm": p}, is_exact=True)
        for p in perms
    ]
    view = _x(3, 4).T
    return [
        *samples,
        Sample("permute", (_x(2, 0, 3),), lambda x: x.permute(2, 0, 1), {"perm": (2, 0, 1)}, is_exact=True),
        # An operand that is a view itself: its values count, not its strides.
        Sample("view", (view,), lambda x: x.reshape(2, 6), {"shape": (2, 6)}, is_exact=True),
    ]


def _expands() -> list[Sample]:
    cases = (
        ((), ()),
        ((), (2, 3)),
        ((1, 3), (4, 3)),
        ((3,), (2, 3)),
        ((2, 1, 3), (5, 2, 4, 3)),
        ((1, 3), (0, 3)),
        ((1, 1, 1, 1, 2), (2, 1, 2, 1, 2)),
    )
    return [
        Sample("expand", (_x(*old),), lambda x, new=new: x.expand(new), {"shape": new}, is_exact=True)
        for old, new in cases
    ]


def _slices() -> list[Sample]:
    cases = ((0, 0, 4, 1), (0, 1, 3, 1), (1, 0, 7, 2), (1, 1, 7, 3), (1, 2, 2, 1), (2, 0, 1, 5), (1, 7, 7, 1))
    samples: list[Sample] = []
    for dim, start, stop, step in cases:
        attributes = {"dim": dim, "start": start, "stop": stop, "step": step}
        samples.append(
            Sample(
                "slice",
                (_x(4, 7, 2),),
                lambda x, dim=dim, where=slice(start, stop, step): x[(slice(None),) * dim + (where,)],
                attributes,
                is_exact=True,
            )
        )
    return samples


def _selects() -> list[Sample]:
    return [
        Sample(
            "select",
            (_x(*sizes),),
            lambda x, dim=dim, index=index: x.select(dim, index),
            {"dim": dim, "index": index},
            is_exact=True,
        )
        for sizes, dim, index in (((3,), 0, 2), ((2, 3), 1, 0), ((2, 3, 4), 1, 2), ((2, 0, 4), 2, 3))
    ]


def _cats() -> list[Sample]:
    cases = (
        (((3,),), 0),
        (((2, 3), (4, 3)), 0),
        (((2, 3), (2, 1), (2, 0), (2, 2)), 1),
        (((2, 3, 1), (2, 3, 4)), 2),
        (((0, 2), (0, 3)), 1),
        (((1, 1, 2, 1, 1), (1, 1, 3, 1, 1)), 2),
    )
    samples: list[Sample] = []
    for name in _CATS:
        for shapes, dim in cases:
            parts = tuple(values(DType.F32, *sizes, seed=n) for n, sizes in enumerate(shapes))
            samples.append(
                Sample(name, (parts,), lambda p, dim=dim: torch.cat(p, dim), {"dim": dim}, is_exact=True)
            )
        twice = _x(2, 3)
        samples.append(Sample(name, ((twice, twice),), lambda p: torch.cat(p, 1), {"dim": 1}, is_exact=True))
    return samples


def _dtypes() -> list[Sample]:
    samples: list[Sample] = []
    for dtype in ALL:
        x = values(dtype, 2, 3)
        samples += [
            Sample("view", (x,), lambda x: x.reshape(6), {"shape": (6,)}, is_exact=True),
            Sample("permute", (x,), lambda x: x.t(), {"perm": (1, 0)}, is_exact=True),
            Sample("expand", (x,), lambda x: x.expand(2, 2, 3), {"shape": (2, 2, 3)}, is_exact=True),
            Sample("slice", (x,), lambda x: x[:, 1:3], {"dim": 1, "start": 1, "stop": 3}, is_exact=True),
            Sample("select", (x,), lambda x: x[1], {"dim": 0, "index": 1}, is_exact=True),
            Sample("cat", ((x, x),), lambda p: torch.cat(p, 0), {"dim": 0}, is_exact=True),
        ]
    return samples


SAMPLES = (*_views(), *_permutes(), *_expands(), *_slices(), *_selects(), *_cats(), *_dtypes())
