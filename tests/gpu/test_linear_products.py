"""Large linear layers on a GPU: the error of each precision, and values that are not finite."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import dlrmc

pytestmark = pytest.mark.gpu
SHAPES = [
    (2048, 1024, (128, 351)),
    (2048, 512, (1024,)),
    (2048, 256, (512,)),
    (128, 1024, (1024,)),
    (2051, 70, (3456,)),
]


class Layer(nn.Module):
    """linear(cat(parts))."""

    def __init__(self, columns: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, columns)

    def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
        return self.linear(torch.cat(parts, dim=1))


def made(rows, columns, widths):
    torch.manual_seed(rows + columns)
    layer = Layer(columns, sum(widths)).cuda().eval()
    return layer, [torch.randn(rows, width, device="cuda") for width in widths]


def compiled(layer, parts, precision, cache_dir: Path):
    return dlrmc.compile(torch.export.export(layer, (parts,)), precision=precision, cache_dir=cache_dir)


@torch.no_grad()
def errors(result, layer, parts):
    weight, bias = layer.linear.weight.double(), layer.linear.bias.double()
    exact = torch.cat(parts, dim=1).double() @ weight.T + bias
    difference = result.double() - exact
    return float(difference.abs().max()), float(difference.square().mean().sqrt())


@pytest.mark.parametrize(("rows", "columns", "widths"), SHAPES)
def test_fp32_is_at_most_twice_as_far_off_as_eager(tmp_path, rows, columns, widths):
    layer, parts = made(rows, columns, widths)
    torch.set_float32_matmul_precision("highest")
    with torch.no_grad():
        eager_largest, eager_mean = errors(layer(parts), layer, parts)
    largest, mean = errors(compiled(layer, parts, "fp32", tmp_path)(parts), layer, parts)
    assert largest <= 2 * eager_largest
    assert mean <= 2 * eager_mean


@pytest.mark.parametrize(("precision", "least", "most"), [("tf32", 1e-5, 2e-3), ("bf16", 1e-4, 2e-2)])
def test_lower_precisions_are_what_they_say(tmp_path, precision, least, most):
    layer, parts = made(2048, 1024, (1024,))
    largest, _ = errors(compiled(layer, parts, precision, tmp_path)(parts), layer, parts)
    assert least < largest < most


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_infinities_nans_and_large_values_are_as_in_eager(tmp_path, precision):
    layer, (x,) = made(2048, 1024, (1024,))
    x[1, 5], x[2, 0], x[3, 1000] = torch.inf, torch.nan, -torch.inf
    x[4, 7], x[4, 8] = torch.inf, -torch.inf
    x[5] *= 1e30
    torch.set_float32_matmul_precision("highest")
    with torch.no_grad():
        wanted = layer([x])
    got = compiled(layer, [x], precision, tmp_path)([x])
    assert torch.equal(got[1:5].isnan(), wanted[1:5].isnan())
    assert torch.equal(got[1:5].isinf(), wanted[1:5].isinf())
    assert got[5].isfinite().all()
    torch.testing.assert_close(
        got[5] * 1e-30, wanted[5] * 1e-30, rtol=0, atol=0.05 if precision != "fp32" else 1e-5
    )
