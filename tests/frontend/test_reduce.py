"""Reductions, softmax, norms and normalisations, against eager."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dlrmc.frontend import import_program
from tests.frontend.imported import Family, assert_equals_eager, evaluate_imported, run_family

torch.manual_seed(0)
X = torch.randn(2, 3, 4)
INTEGERS = torch.tensor([[7, -3, 4], [0, 9, -8]])
FLAGS = INTEGERS > 0
ARGS = (X, INTEGERS, FLAGS)

CASES: dict[str, Callable[..., Any]] = {
    "sum": lambda x, i, b: (x.sum(), x.sum(1), x.sum((0, -1)), x.sum(-1, keepdim=True)),
    "sum_of_integers": lambda x, i, b: (i.sum(1), i.int().sum(), b.sum(1), b.sum(1, keepdim=True)),
    "sum_with_dtype": lambda x, i, b: (b.sum(1, dtype=torch.float32), i.sum(0, dtype=torch.int32)),
    "sum_of_a_scalar": lambda x, i, b: x.sum().sum(),
    "mean": lambda x, i, b: (x.mean(), x.mean(-2), x.mean((1, 2), keepdim=True)),
    "mean_with_dtype": lambda x, i, b: i.mean(1, dtype=torch.float32),
    "amax_amin": lambda x, i, b: (x.amax(1), x.amin((0, 2)), i.amax(-1, keepdim=True), x.max(), x.min()),
    "max_values": lambda x, i, b: (x.max(1)[0], x.min(-1, keepdim=True)[0]),
    "prod": lambda x, i, b: (x.prod(1), i.prod(), b.prod(1)),
    "any_all": lambda x, i, b: (b.any(), b.any(1), b.all(1, keepdim=True), (i > -9).all(), x.any(-1)),
    "softmax": lambda x, i, b: [x.softmax(dim) for dim in (-1, 1, 2, -2)],
    "softmax_ranks": lambda x, i, b: (x[0, 0].softmax(0), x.sum().softmax(0), x[None, :, None].softmax(2)),
    "softmax_with_dtype": lambda x, i, b: x.half().softmax(-1, dtype=torch.float32),
    "log_softmax": lambda x, i, b: (x.log_softmax(-1), x.log_softmax(0)),
    "var_mean": lambda x, i, b: (*torch.var_mean(x, 1), *torch.std_mean(x, (0, 2), keepdim=True)),
    "var_std": lambda x, i, b: (x.var(1), x.std(-1), x.var((0, 2), unbiased=False, keepdim=True)),
    "vector_norm": lambda x, i, b: (x.norm(dim=1), x.norm(1, dim=-1), torch.linalg.vector_norm(x)),
    "vector_norm_infinite": lambda x, i, b: torch.linalg.vector_norm(x, float("inf"), dim=1, keepdim=True),
    "vector_norm_of_other_orders": lambda x, i, b: tuple(
        torch.linalg.vector_norm(x + 5, order, dim=1) for order in (3, -1, 0.5, 0)
    ),
    "normalize": lambda x, i, b: F.normalize(x, dim=-1),
    "cosine": lambda x, i, b: F.cosine_similarity(x[0], x[1], dim=-1),
    "layer_norm": lambda x, i, b: (F.layer_norm(x, (4,)), F.layer_norm(x, (4,), x[0, 0], x[0, 1], 1e-8)),
    "layer_norm_of_two_dims": lambda x, i, b: F.layer_norm(x, (3, 4), x[0], x[1], 1e-12),
}


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


class Normalised(nn.Module):
    """Batch norms of ranks 2 to 4, with and without weight and bias, and several eps."""

    def __init__(self) -> None:
        super().__init__()
        self.rank_2 = nn.BatchNorm1d(4)
        self.plain = nn.BatchNorm1d(4, eps=1e-9, affine=False)
        self.rank_3 = nn.BatchNorm1d(3, eps=1e-8)
        self.rank_4 = nn.BatchNorm2d(2)
        for norm in (self.rank_2, self.plain, self.rank_3, self.rank_4):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2.0)
            if norm.affine:
                norm.weight.data.normal_()
                norm.bias.data.normal_()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        bare = F.batch_norm(x, self.rank_2.running_mean, self.rank_2.running_var, weight=self.rank_2.weight)
        return self.rank_2(x), self.plain(x), self.rank_3(y), self.rank_4(y.view(1, 2, 3, 4)), bare


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
def test_batch_norm_in_evaluation_mode(core: bool) -> None:
    model = Normalised().eval()
    args = (torch.randn(5, 4), torch.randn(2, 3, 4))
    program = torch.export.export(model, args)
    imported = import_program(program.run_decompositions() if core else program)
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, args, {}), model(*args))


def test_the_scale_and_shift_of_batch_norm_are_made_of_weights_alone() -> None:
    model = nn.BatchNorm1d(4).eval()
    graph = import_program(torch.export.export(model, (torch.randn(5, 4),))).graph
    (add,) = graph.outputs
    scaled, shift = add.inputs
    (x,) = graph.inputs
    assert add.name == "batch_norm"
    assert x in scaled.inputs
    assert all(not graph.depends_on(value, x) for value in (shift, *scaled.inputs) if value is not x)
