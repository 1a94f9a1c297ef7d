"""Ids and offsets out of range: reported by name, memory-safe, and the next good request is served."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dlrmc.errors import BoundsError
from dlrmc.runtime.compiled import Compiled
from tests.embedding_bag.bag_cases import W, numbers
from tests.embedding_bag.bag_programs import compile_with

WAYS = (("reference", "fused"), ("emulate", "fused"), ("emulate", "unfused"))
WAY_NAMES = ["-".join(way) for way in WAYS]
# Ids, offsets; the value that the error names.
BAD = {
    "o04_negative_id": ((2, -2, 4), (0, 1, 2), "-2"),
    "id_of_no_row": ((2, 5, 4), (0, 1, 2), "5"),
    "o27_huge_id": ((2, 10**9, 4), (0, 1, 2), "1000000000"),
    "o06_begins_late": ((0, 1, 2), (1, 2, 2), "1"),
    "o06_falls": ((0, 1, 2), (0, 2, 1), "1"),
    "o06_beyond_the_ids": ((0, 1, 2), (0, 1, 9), "9"),
    "negative_offset": ((0, 1, 2), (0, -1, 2), "-1"),
}
GOOD = (numbers(1, 3, 4), numbers(0, 0, 2))
RIGHT = torch.tensor([[0.0, 0.0], [8.0, 10.0], [8.0, 9.0]])


class OneTable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", W)

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> Any:
        bags = F.embedding_bag(ids, self.table, offsets, mode="sum")
        return bags, -bags


@functools.cache
def compiled(target: str, pipeline: str, bounds: str) -> Compiled:
    program = torch.export.export(OneTable().eval(), GOOD)
    return compile_with(pipeline, program, target=target, bounds=bounds)


def request(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    ids, offsets, _ = BAD[name]
    return numbers(*ids), numbers(*offsets)


@pytest.mark.parametrize("name", BAD)
def test_eager_refuses_it_too(name: str) -> None:
    with pytest.raises(RuntimeError):
        OneTable()(*request(name))


@pytest.mark.parametrize(("target", "pipeline"), WAYS, ids=WAY_NAMES)
@pytest.mark.parametrize("name", BAD)
def test_it_is_raised_by_name_and_the_next_request_is_served(name: str, target: str, pipeline: str) -> None:
    program = compiled(target, pipeline, "raise")
    with pytest.raises(BoundsError) as caught:
        program(*request(name))
    assert ("ids" if "id" in name.split("_") else "offsets") in str(caught.value)
    assert BAD[name][2] in caught.value.found
    assert torch.equal(program(*GOOD)[0], RIGHT)


@pytest.mark.parametrize("pipeline", ["fused", "unfused"])
@pytest.mark.parametrize("name", BAD)
def test_it_reads_nothing_out_of_bounds_and_is_reported_later(name: str, pipeline: str) -> None:
    program = compiled("emulate", pipeline, "deferred")
    bags, _ = program(*request(name))
    assert set(bags.flatten().tolist()) <= set(range(40))  # sums of rows of the table, no others
    with pytest.raises(BoundsError, match="ids" if "id" in name.split("_") else "offsets") as caught:
        program.check()
    assert caught.value.position in range(3)
    assert torch.equal(program(*GOOD)[0], RIGHT)
    program.check()


SHOWN = {
    "all": lambda ids: ids,
    "later_lists": lambda ids: ids[:, 1:],
    "one_list": lambda ids: ids[:, 2:],
    "later_columns": lambda ids: ids[:, :, 1:],
    "turned": lambda ids: ids.transpose(1, 2),
    "every_other_list": lambda ids: ids[:, ::2],
}


class ShownIds(nn.Module):
    def __init__(self, shown: str) -> None:
        super().__init__()
        self.register_buffer("table", W)
        self.shown = SHOWN[shown]

    def forward(self, ids: torch.Tensor) -> Any:
        bags = F.embedding(self.shown(ids), self.table).sum(2)
        return bags, -bags


@pytest.mark.parametrize("shown", SHOWN)
def test_the_position_is_that_in_the_input_wherever_a_view_shows_it(shown: str) -> None:
    good = torch.randint(0, 5, (4, 3, 2), generator=torch.Generator().manual_seed(0))
    bad = good.clone()
    bad[3, 2, 1] = 77
    program = torch.export.export(ShownIds(shown).eval(), (good,))
    made = compile_with("fused", program, target="emulate", bounds="raise")
    with pytest.raises(BoundsError) as error:
        made(bad)
    assert (error.value.input, error.value.position, error.value.value) == ("ids", 3 * 6 + 2 * 2 + 1, 77)
    assert torch.equal(made(good)[0], ShownIds(shown)(good)[0])
