"""Writes in place behind dropout: kept where no later reader can see them, refused where one can."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import dlrmc
from dlrmc.errors import UnsupportedOpsError

Forward = Callable[[torch.Tensor], torch.Tensor]


class Calls(nn.Module):
    """A function as a model."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self._forward = forward

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._forward(x)


def dropout(x: torch.Tensor) -> torch.Tensor:
    return F.dropout(x, training=False)


def select_beside(x: torch.Tensor) -> torch.Tensor:
    whole = torch.stack([x, x + 1, x + 2])
    first = dropout(whole[0]).mul_(2)
    return first + whole[1] + whole[-1]


def item_beside(x: torch.Tensor) -> torch.Tensor:
    first, second = (x + 1).chunk(2, dim=1)
    return dropout(first).mul_(2) + second


def column_beside(x: torch.Tensor) -> torch.Tensor:
    whole = x + 1
    return dropout(whole[:, 0]).mul_(2) + whole[:, -1]


def same_select(x: torch.Tensor) -> torch.Tensor:
    whole = torch.stack([x, x + 1])
    first = dropout(whole[0]).mul_(2)
    return first + whole[0] + whole[1]


def the_whole(x: torch.Tensor) -> torch.Tensor:
    whole = torch.stack([x, x + 1])
    return dropout(whole[0]).mul_(2) + whole.sum(0)


def along_another_dimension(x: torch.Tensor) -> torch.Tensor:
    whole = x + 1
    return dropout(whole[0]).mul_(2) + whole[:, 1].sum()


def repeated(x: torch.Tensor) -> torch.Tensor:
    whole = (x[:1] + 1).expand(3, 4)
    return dropout(whole[0]).mul_(2) + whole[1]


def last_may_be_first(x: torch.Tensor) -> torch.Tensor:
    whole = x + 1
    return dropout(whole[0]).mul_(2) + whole[-1]


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("forward", [select_beside, item_beside, column_beside])
def test_a_write_beside_what_is_read_equals_eager(forward: Forward, is_dynamic: bool) -> None:
    model, x = Calls(forward).eval(), torch.randn(5, 4)
    dynamic_shapes = {"x": {0: Dim("batch", max=64)}} if is_dynamic else None
    program = torch.export.export(model, (x.clone(),), dynamic_shapes=dynamic_shapes)
    torch.testing.assert_close(dlrmc.compile(program, target="reference")(x), model(x.clone()))


@pytest.mark.parametrize("forward", [same_select, the_whole, along_another_dimension, repeated])
def test_a_write_that_is_read_is_refused(forward: Forward) -> None:
    program = torch.export.export(Calls(forward).eval(), (torch.randn(5, 4),))
    with pytest.raises(UnsupportedOpsError, match="on the other side of dropout"):
        dlrmc.compile(program, target="reference")


def test_rows_from_both_ends_may_be_one_row_where_their_number_is_not_fixed() -> None:
    dynamic_shapes = {"x": {0: Dim("batch", max=64)}}
    program = torch.export.export(
        Calls(last_may_be_first).eval(), (torch.randn(5, 4),), dynamic_shapes=dynamic_shapes
    )
    with pytest.raises(UnsupportedOpsError, match="on the other side of dropout"):
        dlrmc.compile(program, target="reference")
