"""Programs whose large layers are TF32 products of warpgroups: who rounds their factors, and how exactly."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import nn

import dlrmc
from dlrmc.runtime.compiled import Compiled

ROWS, WIDTH = 256, 512


def compiled(model: nn.Module, x: torch.Tensor, cache_dir: Path, precision: str = "tf32") -> Compiled:
    exported = torch.export.export(model.eval(), (x,))
    options = {"target": "emulate", "architecture": "sm_90a", "cache_dir": cache_dir}
    return dlrmc.compile(exported, precision=precision, **options)


def rounding_of(program: Compiled) -> list[str]:
    return [line for line in program._build.module.text.splitlines() if line.startswith("// To TF32")]


def nearest_tf32(values: torch.Tensor) -> torch.Tensor:
    mantissa, exponent = torch.frexp(values.double())
    return torch.ldexp(torch.round(mantissa * 2048), exponent - 11)


class Chain(nn.Module):
    """Two large layers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.first, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.first(x)))


class Branches(Chain):
    """The first layer's result is read twice, by one that is no product, and returned."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        hidden = torch.relu(self.first(x))
        return self.last(hidden), torch.cumsum(hidden, 1), hidden


class PairDots(nn.Module):
    """A bottom layer, dot products of pairs of it and of bags, and a large layer on both."""

    def __init__(self, bottom: int) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.bottom = nn.Linear(bottom, 64)
        self.tables = nn.ModuleList(nn.EmbeddingBag(20, 64, mode="sum") for _ in range(26))
        pairs = torch.tril_indices(27, 27, -1)
        self.register_buffer("high", pairs[0])
        self.register_buffer("low", pairs[1])
        self.top = nn.Linear(64 + pairs.shape[1], WIDTH)

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        dense = torch.relu(self.bottom(x))
        features = torch.stack([dense, *(table(ids[k]) for k, table in enumerate(self.tables))], 1)
        dots = torch.bmm(features, features.transpose(1, 2))[:, self.high, self.low]
        return self.top(torch.cat([dense, dots], 1))


def by_rounding(model: Chain, x: torch.Tensor) -> torch.Tensor:
    """In float64, of factors rounded to TF32."""
    hidden = nearest_tf32(x) @ nearest_tf32(model.first.weight).T + model.first.bias.double()
    return nearest_tf32(torch.relu(hidden).float()) @ nearest_tf32(model.last.weight).T


@torch.no_grad()
def test_weights_are_rounded_at_load_and_the_first_result_by_its_writer(cache_dir: Path) -> None:
    model, x = Chain(), torch.randn(ROWS, WIDTH)
    program = compiled(model, x, cache_dir)
    assert rounding_of(program) == [
        "// To TF32, x is rounded here, w at load.",
        "// To TF32, x is rounded by its writer, w at load.",
    ]
    assert "one TF32 product (x is rounded by its writer, w at load) in 1" in program.report()
    exact = model.double()(x.double())
    model.float()
    found, rounded = program(x).double() - exact, by_rounding(model, x) - exact
    assert found.square().mean().sqrt() <= 1.05 * rounded.square().mean().sqrt()
    assert found.abs().max() <= 1.2 * rounded.abs().max()
    assert found.mean().abs() < 1e-5


@torch.no_grad()
def test_small_integers_and_powers_of_two_stay_exact_through_two_layers(cache_dir: Path) -> None:
    model, x = Chain(), torch.randint(-2, 3, (ROWS, WIDTH)).float()
    model.first.weight.copy_(torch.eye(WIDTH) * 4)
    model.first.bias.zero_()
    model.last.weight.copy_(torch.randint(-3, 4, (WIDTH, WIDTH)))
    assert torch.equal(compiled(model, x, cache_dir)(x), model(x))


@torch.no_grad()
def test_other_readers_and_outputs_get_values_that_are_not_rounded(cache_dir: Path) -> None:
    model, x = Branches(), torch.randn(ROWS, WIDTH)
    program = compiled(model, x, cache_dir)
    assert rounding_of(program) == ["// To TF32, x is rounded here, w at load."] * 2
    scores, sums, hidden = program(x)
    assert not torch.equal(hidden.double(), nearest_tf32(hidden))
    torch.testing.assert_close(sums, torch.cumsum(hidden, 1))
    torch.testing.assert_close(
        scores.double(), nearest_tf32(hidden) @ nearest_tf32(model.last.weight).T, rtol=0, atol=1e-5
    )


@torch.no_grad()
@pytest.mark.parametrize("is_in_place", [False, True])
def test_new_weights_are_rounded_too(cache_dir: Path, is_in_place: bool) -> None:
    model, x = Chain(), torch.randn(ROWS, WIDTH)
    program = compiled(model, x, cache_dir)
    before = program(x)
    if is_in_place:
        model.last.weight.mul_(-1.7)
    else:
        program.update_weights({"last.weight": model.last.weight * -1.7})
    after = program(x)
    assert not torch.equal(before, after)
    torch.testing.assert_close(after.double(), by_rounding(model, x), rtol=0, atol=2e-4)
    torch.testing.assert_close(compiled(model, x, cache_dir)(x), after, rtol=0, atol=0)


@torch.no_grad()
def test_nans_and_infinities_pass_through_two_layers(cache_dir: Path) -> None:
    model, x = Chain(), torch.randn(ROWS, WIDTH)
    x[1, 5], x[2, 0], x[3, 500] = torch.nan, torch.inf, -torch.inf
    found, wanted = compiled(model, x, cache_dir)(x), model(x)
    assert torch.equal(found.isnan(), wanted.isnan())
    assert torch.equal(found.isinf(), wanted.isinf())
    assert found.isnan().any()


def test_fp32_rounds_nothing(cache_dir: Path) -> None:
    program = compiled(Chain(), torch.randn(ROWS, WIDTH), cache_dir, "fp32")
    assert rounding_of(program) == []
    assert "round_tf32" not in program.report(ir=True)


# With 16 inputs the bottom layer is part of the row program, with 4096 a kernel before it.
@torch.no_grad()
@pytest.mark.parametrize("bottom", [16, 4096])
def test_row_programs_round_what_they_store_for_products(cache_dir: Path, bottom: int) -> None:
    model = PairDots(bottom).eval()
    x, ids = torch.randn(ROWS, bottom) / bottom**0.5, torch.randint(0, 20, (26, ROWS, 2))
    exported = torch.export.export(model, (x, ids))
    options = {"target": "emulate", "architecture": "sm_90a", "cache_dir": cache_dir}
    program = dlrmc.compile(exported, precision="tf32", **options)
    assert rounding_of(program)[-1] == "// To TF32, x is rounded by its writer, w at load."
    exact = copy.deepcopy(model).double()(x.double(), ids)
    found = program(x, ids).double()
    assert (found - exact).square().mean().sqrt() < 1e-3 * exact.square().mean().sqrt()
    plain = dlrmc.compile(exported, precision="fp32", **options)
    assert (plain(x, ids) - exact).square().mean().sqrt() < 1e-6 * exact.square().mean().sqrt()


@torch.no_grad()
def test_what_a_row_program_returns_is_not_rounded(cache_dir: Path) -> None:
    class Returning(PairDots):
        def forward(self, x: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return super().forward(x, ids), torch.relu(self.bottom(x))

    model = Returning(16).eval()
    x, ids = torch.randn(ROWS, 16), torch.randint(0, 20, (26, ROWS, 2))
    options = {"target": "emulate", "architecture": "sm_90a", "cache_dir": cache_dir}
    program = dlrmc.compile(torch.export.export(model, (x, ids)), precision="tf32", **options)
    assert rounding_of(program) == ["// To TF32, x is rounded here, w at load."]
    dense = program(x, ids)[1]
    assert not torch.equal(dense.double(), nearest_tf32(dense))
