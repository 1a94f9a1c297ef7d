"""Views, slices, concatenation and the like, in all the spellings of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.frontend.imported import Family, assert_equals_eager, run_family

X = torch.arange(24.0).reshape(2, 3, 4)
Y = torch.arange(12.0).reshape(3, 4)
ARGS = (X, Y)
LAST = 2**63 - 1

CASES: dict[str, Callable[..., Any]] = {
    "view": lambda x, y: x.view(6, 4),
    "view_minus_one": lambda x, y: x.view(2, -1),
    "reshape_after_transpose": lambda x, y: x.transpose(0, 2).reshape(4, -1),
    "flatten": lambda x, y: x.flatten(1),
    "unflatten": lambda x, y: y.unflatten(1, (2, 2)),
    "unsqueeze": lambda x, y: (y.unsqueeze(1), y.unsqueeze(-1)),
    "squeeze": lambda x, y: (y[:, None, :, None].squeeze(), y[:, None].squeeze(1)),
    "squeeze_dims_leaves_wider_ones": lambda x, y: y[:, None].squeeze((0, 1)),
    "squeeze_of_no_unit_dim": lambda x, y: y.squeeze(0) + 0,
    "permute": lambda x, y: x.permute(0, 2, 1),
    "permute_negative": lambda x, y: x.permute(-1, 0, -2),
    "transpose": lambda x, y: x.transpose(-1, -2),
    "t": lambda x, y: y.t(),
    "t_of_vector": lambda x, y: y[0].t() + 0,
    "mT": lambda x, y: x.mT,
    "expand": lambda x, y: y.expand(2, 3, 4),
    "expand_minus_one": lambda x, y: y.expand(2, -1, -1),
    "expand_as": lambda x, y: y[:1].expand_as(y),
    "repeat": lambda x, y: (y.repeat(2, 1), y.repeat(2, 1, 3), y.repeat(1, 1) + 0),
    "repeat_interleave": lambda x, y: y.repeat_interleave(2, 1),
    "repeat_interleave_by_constants": lambda x, y: y.repeat_interleave(torch.tensor([2, 0, 1]), 0),
    "unfold": lambda x, y: (x.unfold(2, 2, 1), y.unfold(0, 2, 2), x.unfold(-2, 3, 5), y.unfold(1, 1, 3)),
    "slice": lambda x, y: (x[:, 1:], x[:, :-1], x[..., -3:-1], x[:, ::2], y[5:], y[2:1]),
    "slice_to_the_last": lambda x, y: torch.ops.aten.slice.Tensor(x, 0, 0, LAST) + x,
    "slice_defaults": lambda x, y: torch.ops.aten.slice.Tensor(y) + 0,
    "narrow": lambda x, y: (y.narrow(1, 1, 2), y.narrow(-1, -2, 2)),
    "select": lambda x, y: (x[1], x[:, -1], x.select(-1, -4)),
    "unbind": lambda x, y: y.unbind(0)[1] + y.unbind(-1)[3][0],
    "cat": lambda x, y: (torch.cat([y, y], 0), torch.cat([y, y], -1), torch.cat([y, y[:1]])),
    "cat_of_one": lambda x, y: torch.cat([y]) + 0,
    "cat_repeats_an_input": lambda x, y: torch.cat([y, y, y[:, :1]], 1),
    "cat_skips_legacy_empty": lambda x, y: torch.cat([torch.zeros(0), y, torch.zeros(0)], 1),
    "cat_promotes": lambda x, y: torch.cat([y, y.long()], 1),
    "cat_of_vectors_with_an_empty_one": lambda x, y: torch.cat([y[0], y[0][:0], y[1]]),
    "stack": lambda x, y: (torch.stack([y, y + 1], 1), torch.stack([y, y], -1)),
    "split_with_sizes": lambda x, y: torch.split(y, [1, 3], 1),
    "split": lambda x, y: torch.split(y, 3, -1),
    "chunk": lambda x, y: torch.chunk(x, 2, 2)[1],
    "pad": lambda x, y: (F.pad(y, (1, 2)), F.pad(y, (0, -1, 1, 0), value=7.0)),
    "rank_5": lambda x, y: x.reshape(2, 3, 2, 2, 1).permute(2, 0, 4, 1, 3).reshape(2, 2, -1),
    "zero_size": lambda x, y: (y[:0], y[:0].view(4, 0), torch.cat([y[:0], y])),
    "assign": lambda x, y: _assigned(y),
}


def _assigned(y: torch.Tensor) -> torch.Tensor:
    z = y.clone()
    z[:, 1] = 3
    z[0] = y[1]
    return z


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


def test_every_view_is_one_view_node() -> None:
    run = run_family({"f": lambda y: y.unsqueeze(1).squeeze(1).flatten().view(6, 2)}, (Y,))
    ops = [node.op.name for node in run.imported.graph.nodes]
    assert set(ops) == {"input", "view"}


def test_a_slice_of_everything_vanishes() -> None:
    run = run_family({"f": lambda y: torch.ops.aten.slice.Tensor(y, 0, 0, LAST) * y}, (Y,))
    assert [node.op.name for node in run.imported.graph.nodes] == ["input", "mul"]


def test_only_the_parts_of_a_split_that_are_read_become_slices() -> None:
    run = run_family({"f": lambda y: torch.split(y, [1, 2, 1], 1)[1] * 2}, (Y,))
    (piece,) = [node for node in run.imported.graph.nodes if node.is_op("slice")]
    assert (piece.attributes.int("start"), piece.attributes.int("stop")) == (1, 3)
