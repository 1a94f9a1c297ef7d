"""Values with some elements replaced, and diagonals, against eager."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from dlrmc.errors import UnsupportedOpsError
from tests.frontend.imported import Family, assert_equals_eager, run_family

torch.manual_seed(0)
X, Y = torch.randn(3, 4, 5), torch.randn(3, 4)
IDS = torch.tensor([[0, 3], [1, 1], [2, 0]])
ARGS = (X, Y, IDS)


def _assigned(x: torch.Tensor, assign: Callable[[torch.Tensor], None]) -> torch.Tensor:
    copy = x.clone()
    assign(copy)
    return copy


def _set(place: Any, value: Any) -> Callable[[torch.Tensor], None]:
    def assign(x: torch.Tensor) -> None:
        x[place] = value

    return assign


ALL = slice(None)

CASES: dict[str, Callable[..., Any]] = {
    "column": lambda x, y, i: _assigned(x, _set((ALL, ALL, 2), y)),
    "last_column": lambda x, y, i: _assigned(x, _set((ALL, ALL, -1), 7.0)),
    "range": lambda x, y, i: _assigned(x, _set((ALL, slice(1, 3)), 0.0)),
    "range_with_step": lambda x, y, i: _assigned(x, _set((ALL, ALL, slice(0, 5, 2)), y.unsqueeze(2))),
    "row": lambda x, y, i: _assigned(x, _set(1, x[0])),
    "listed": lambda x, y, i: _assigned(x, _set((ALL, [0, 2]), 1.0)),
    "listed_pairs": lambda x, y, i: _assigned(x, _set((ALL, [0, 2, -1], [1, 0, 4]), y[:, :3])),
    "listed_rows": lambda x, y, i: _assigned(y, _set(torch.tensor([2, 0]), y[:2])),
    "mask": lambda x, y, i: _assigned(x, _set(x > 0, 3.0)),
    "mask_of_rows": lambda x, y, i: _assigned(x, _set(y > 0, -1.0)),
    "added": lambda x, y, i: torch.index_put(y, (torch.tensor([0, 2]),), y[:2], accumulate=True),
    "scatter_value": lambda x, y, i: y.scatter(1, i, 9.0),
    "scatter_source": lambda x, y, i: y.scatter(1, i, y[:, 2:]),
    "scatter_add": lambda x, y, i: torch.scatter_add(y, 1, i, y[:, :2]),
    "scatter_along_rows": lambda x, y, i: torch.zeros(5, 2).scatter(0, i, 1.0),
    "one_hot": lambda x, y, i: torch.nn.functional.one_hot(i, 4),
    "diagonal": lambda x, y, i: (torch.diagonal(y), torch.diagonal(x, 1, 1, 2), torch.diagonal(x, -1, -1, 0)),
    "triangles": lambda x, y, i: (torch.tril(x), torch.triu(y, 1)),
}


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, y, i: _assigned(y, _set((ALL, i[0]), 0.0)), "not known at compile time"),
        (
            lambda x, y, i: torch.index_put(y, (torch.tensor([0, 0]),), y[:2], accumulate=True),
            "adds several values at one place",
        ),
        (lambda x, y, i: y.scatter(0, i, 1.0), "must be equal"),
    ],
)
def test_what_depends_on_values_is_refused(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(UnsupportedOpsError, match=reason):
        run_family({"f": function}, ARGS)
