"""Matrix products in all their spellings, against eager."""

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
A, W, B = torch.randn(4, 3), torch.randn(5, 3), torch.randn(5)
S = torch.randn(2, 4, 3)
ARGS = (A, W, B, S)

CASES: dict[str, Callable[..., Any]] = {
    "linear": lambda a, w, b, s: (F.linear(a, w, b), F.linear(a, w)),
    "linear_of_rank_3": lambda a, w, b, s: F.linear(s, w, b),
    "linear_of_a_vector": lambda a, w, b, s: F.linear(a[0], w, b),
    "linear_by_a_vector": lambda a, w, b, s: F.linear(a, w[0]),
    "addmm": lambda a, w, b, s: torch.addmm(b, a, w.t()),
    "addmm_scaled": lambda a, w, b, s: torch.addmm(b, a, w.t(), beta=0.5, alpha=2),
    "mm_and_add": lambda a, w, b, s: torch.mm(a, w.t()) + b,
    "matmul": lambda a, w, b, s: (a @ w.T, s @ w.T, s @ s.mT, a @ w[0], a[0] @ w[0]),
    "bmm": lambda a, w, b, s: torch.bmm(s, s.transpose(1, 2)),
    "baddbmm": lambda a, w, b, s: torch.baddbmm(s @ s.mT, s, s.mT, beta=0.5, alpha=2),
    "baddbmm_without_self": lambda a, w, b, s: torch.baddbmm(s @ s.mT, s, s.mT, beta=0),
    "addmv": lambda a, w, b, s: torch.addmv(a[:, 0], a, w[0], alpha=2, beta=0.5),
    "mv": lambda a, w, b, s: torch.mv(a, w[0]),
    "bilinear": lambda a, w, b, s: (
        F.bilinear(a, a[:, :2], s.new_tensor(range(42)).view(7, 3, 2), b.new_ones(7)),
        F.bilinear(s, s[..., :1], s[:, :, :1].reshape(8, 1).expand(8, 3).unsqueeze(-1)),
    ),
    "dot": lambda a, w, b, s: torch.dot(a[0], a[1]),
    "convolution_of_width_1": lambda a, w, b, s: (
        F.conv1d(s.mT, w[:, :, None], b),
        F.conv2d(s.mT[..., None], w[:, :, None, None]),
    ),
    "einsum": lambda a, w, b, s: (torch.einsum("bi,bj->bij", a, a), torch.einsum("bnd,kd->bnk", s, w)),
}


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


def test_a_linear_stays_whole_and_keeps_the_weight_as_stored() -> None:
    graph = import_program(torch.export.export(nn.Linear(3, 5), (A,))).graph
    (linear,) = graph.outputs
    assert linear.op.name == "linear"
    assert str(linear.operands[1].type) == "f32[5,3]"


def test_a_decomposed_linear_is_named_as_the_whole_one() -> None:
    program = torch.export.export(nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2, bias=False)), (A,))
    core = import_program(program.run_decompositions()).graph
    whole = import_program(program).graph
    assert [n.name for n in core.nodes if n.is_op("addmm", "mm")] == ["linear", "linear_1"]
    assert [n.name for n in whole.nodes if n.is_op("linear")] == ["linear", "linear_1"]
    assert [n.name for n in core.nodes if n.is_op("permute")] == ["_0_weight_t", "_1_weight_t"]


def test_alpha_and_beta_are_kept() -> None:
    run = run_family({"f": lambda a, w, b: torch.addmm(b, a, w.t(), beta=0.5, alpha=2)}, (A, W, B))
    (addmm,) = [node for node in run.imported.graph.nodes if node.is_op("addmm")]
    assert (addmm.attributes.float("alpha"), addmm.attributes.float("beta")) == (2.0, 0.5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_float_dtypes(dtype: torch.dtype) -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).to(dtype)
    args = (A.to(dtype),)
    imported = import_program(torch.export.export(model, args))
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, args, {}), model(*args))


def test_a_weight_that_is_not_contiguous_is_passed_as_it_is() -> None:
    model = nn.Linear(3, 5)
    model.weight = nn.Parameter(torch.randn(3, 5).t())
    imported = import_program(torch.export.export(model, (A,)))
    assert imported.weights["weight"].stride() == (1, 5)
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, (A,), {}), model(A))
