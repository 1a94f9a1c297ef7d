"""Sorting, largest elements, running sums and turned dimensions, against eager."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.frontend.imported import Family, assert_equals_eager, run_family

X = torch.tensor([[0.5, -1.0, 2.0, 2.0], [3.0, -0.5, 0.0, 3.0], [1.0, 1.0, -2.0, 0.25]])
INTEGERS = torch.tensor([[7, -3, 4, 7], [0, 9, -8, 9], [1, 1, 1, 2]])
GAPS = torch.tensor([[1.0, float("nan"), 3.0], [float("nan"), -1.0, 2.0]])
EDGES = torch.tensor([-1.0, 0.0, 0.25, 2.0])
ARGS = (X, INTEGERS, GAPS)

CASES: dict[str, Callable[..., Any]] = {
    "topk": lambda x, i, g: torch.topk(x, 2, dim=-1)[0],
    "topk_with_places": lambda x, i, g: torch.topk(x[:, :3], 2, dim=1),
    "topk_of_rows": lambda x, i, g: torch.topk(x, 2, dim=0)[0],
    "topk_smallest": lambda x, i, g: torch.topk(x, 3, largest=False)[0],
    "topk_of_nan": lambda x, i, g: (torch.topk(g, 2)[0], torch.topk(g, 2, largest=False)[0]),
    "sort": lambda x, i, g: torch.sort(x, stable=True),
    "sort_descending": lambda x, i, g: torch.sort(x, dim=0, descending=True, stable=True),
    "sort_default": lambda x, i, g: torch.sort(i, dim=1)[0],
    "sort_of_scalar": lambda x, i, g: torch.sort(x.sum()),
    "argsort": lambda x, i, g: torch.argsort(i, dim=1, stable=True, descending=True),
    "kth_value": lambda x, i, g: torch.kthvalue(x, 2, dim=1)[0],
    "kth_value_kept": lambda x, i, g: torch.kthvalue(x[:, :3], 3, dim=-1, keepdim=True),
    "argmax": lambda x, i, g: (torch.argmax(x), torch.argmax(x, 1), torch.argmax(x, -1, keepdim=True)),
    "argmax_of_rows": lambda x, i, g: torch.argmax(i, 0),
    "argmin": lambda x, i, g: (torch.argmin(x), torch.argmin(x, 1), torch.argmin(i, 1)),
    "argmax_of_nan": lambda x, i, g: (torch.argmax(g, 1), torch.argmin(g, 1)),
    "max_of_dim": lambda x, i, g: torch.max(x, 1),
    "max_of_dim_kept": lambda x, i, g: torch.max(i, 0, keepdim=True),
    "min_of_dim": lambda x, i, g: torch.min(x, 1),
    "min_of_nan": lambda x, i, g: (torch.min(g, 1), torch.max(g, 1)),
    "cumsum": lambda x, i, g: (torch.cumsum(x, 1), torch.cumsum(i, 0), torch.cumsum(x > 0, -1)),
    "cumsum_in_place_of_nan": lambda x, i, g: torch.cumsum(g, 1),
    "cumsum_of_another_dtype": lambda x, i, g: torch.cumsum(i, 1, dtype=torch.float32),
    "cumprod": lambda x, i, g: (torch.cumprod(x, 1), torch.cumprod(i, 1)),
    "bucketize": lambda x, i, g: (
        torch.bucketize(x, EDGES),
        torch.bucketize(x, EDGES, right=True, out_int32=True),
        torch.bucketize(g, EDGES),
        torch.bucketize(g, EDGES, right=True),
        torch.bucketize(i, torch.tensor([-3, 1, 7])),
        torch.bucketize(x, EDGES[:0]),
    ),
    "searchsorted": lambda x, i, g: (
        torch.searchsorted(EDGES, x),
        torch.searchsorted(EDGES, x[0], side="right"),
        torch.searchsorted(torch.sort(x, dim=1, stable=True)[0], x[:, 1:] + 0.25),
        torch.searchsorted(torch.sort(i, dim=1, stable=True)[0], i[:, :2], right=True),
    ),
    "flip": lambda x, i, g: (torch.flip(x, [1]), torch.flip(i, [0, -1])),
    "roll": lambda x, i, g: (torch.roll(x, 1, 1), torch.roll(x, (-1, 2), (0, 1))),
}


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


def test_values_and_places_share_one_sort() -> None:
    run = run_family({"f": lambda x: torch.topk(x, 2)}, (X[:, :3].contiguous(),))
    assert [n.op.name for n in run.imported.graph.nodes if not n.is_op("input")] == ["argsort", "gather"]
