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
    "scatter_fewer_rows": lambda x, y, i: y.scatter(0, i % 3, 1.0),
    "scatter_fewer_sources": lambda x, y, i: torch.zeros(5, 4).scatter_add(1, i[:2], y),
    "scatter_nothing": lambda x, y, i: y.scatter(1, i[:, :0], y),
    "scatter_add_as_pooled_sum": lambda x, y, i: torch.zeros(3, 6, 5).scatter_add(
        1, i[:, :, None].expand(-1, -1, 5), x[:, :2]
    ),
    "scatter_add_of_half_and_int": lambda x, y, i: (
        torch.zeros(3, 6, dtype=torch.half).scatter_add(1, i, y.half()),
        torch.zeros(3, 6, dtype=torch.int32).scatter_add(1, i, torch.ones_like(i).int()),
    ),
    **{
        f"scatter_reduce_{how}{'_with_self' * with_self}": lambda x, y, i, h=how, s=with_self: (
            torch.scatter_reduce(y, 1, i, y[:, 2:], h, include_self=s),
            torch.scatter_reduce(i - 1, 0, i[:2] % 3, i[1:] * 3 - 7, h, include_self=s),
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
        for with_self in (True, False)
    },
    "put_one_of_each_row": lambda x, y, i: _assigned(x, _set((torch.arange(3), i[:, 0]), x[:, 3])),
    "put_some_of_each_row": lambda x, y, i: _assigned(y, _set((torch.arange(3)[:, None], i), y[:, 1:3])),
    "put_from_the_end": lambda x, y, i: _assigned(y, _set((torch.arange(3), -1 - i[:, 1]), 7.0)),
    "put_in_three_dimensions": lambda x, y, i: _assigned(x, _set((torch.arange(3), i[:, 0], i[:, 1]), 7.0)),
    "put_columns": lambda x, y, i: _assigned(x, _set((ALL, i[0]), x[:, 1:3])),
    "put_rows": lambda x, y, i: _assigned(y, _set(i[0] % 3, y[1])),
    "put_pairs": lambda x, y, i: _assigned(x, _set((i[0] % 3, i[1]), x[1, 2:])),
    "put_rows_in_another_order": lambda x, y, i: _assigned(
        y, _set((torch.arange(3).flip(0), i[:, 0]), y[:, 1])
    ),
    "index_add": lambda x, y, i: (
        torch.zeros(4, 4).index_add(0, i.flatten(), torch.cat([y, y])),
        x.index_add(1, i[0], x[:, :2], alpha=0.5),
    ),
    "histogram": lambda x, y, i: torch.zeros(4).index_put((i.flatten(),), torch.ones(6), accumulate=True),
    "added_twice_at_known_places": lambda x, y, i: torch.index_put(
        y, (torch.tensor([0, 0]),), y[:2], accumulate=True
    ),
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
        (lambda x, y, i: _assigned(x, _set((i[:, 0], ALL, i[:, 1]), 0.0)), "not beside each other"),
        (lambda x, y, i: _assigned(x, _set(x > 0, x[0, 0, :1].expand(x.shape)[x > 0])), "mask"),
    ],
)
def test_what_depends_on_values_is_refused(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(UnsupportedOpsError, match=reason):
        run_family({"f": function}, ARGS)
