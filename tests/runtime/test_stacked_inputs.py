"""Inputs of several features in one tensor: kernels read each feature where it is, without a copy."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import dlrmc
from dlrmc.compile import build
from dlrmc.errors import BoundsError
from dlrmc.options import Options

ROWS, BATCH, LENGTH = (7, 5, 9), 4, 3


class Stacked(nn.Module):
    """A bag of each table; ids and offsets come as one tensor each."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.bags = nn.ModuleList([nn.EmbeddingBag(rows, 4, mode="sum") for rows in ROWS])
        self.top = nn.Linear(12, 2)

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        bags = [bag(ids[at], offsets[at]) for at, bag in enumerate(self.bags)]
        return torch.sigmoid(self.top(torch.cat(bags, dim=1)))


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(0, min(ROWS), (len(ROWS), BATCH * LENGTH), generator=torch.Generator().manual_seed(1))
    return ids, torch.arange(0, BATCH * LENGTH, LENGTH).repeat(len(ROWS), 1)


def compiled(target: str) -> dlrmc.Compiled:
    program = torch.export.export(Stacked().eval(), inputs())
    return dlrmc.compile(program, target=target, bounds="raise")


@pytest.mark.parametrize("target", ["reference", "emulate"])
def test_the_scores_are_those_of_eager(target: str) -> None:
    with torch.no_grad():
        wanted = Stacked().eval()(*inputs())
    torch.testing.assert_close(compiled(target)(*inputs()), wanted)


def test_no_kernel_copies_a_feature() -> None:
    program = torch.export.export(Stacked().eval(), inputs())
    assert len(build(program, Options.of(target="emulate")).plan.launches) == 1


def test_a_bad_id_is_named_by_its_position_in_the_whole_input() -> None:
    ids, offsets = inputs()
    ids[1, 5] = 1000
    with pytest.raises(BoundsError) as caught:
        compiled("emulate")(ids, offsets)
    assert (caught.value.input, caught.value.value) == ("ids", 1000)
    assert caught.value.position == BATCH * LENGTH + 5
