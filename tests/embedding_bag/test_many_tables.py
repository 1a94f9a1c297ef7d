"""Models of hundreds of tables: as many kernels as pointers need, and no op is left out or done twice."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.embedding_bag.bag_cases import drawn, normal, numbers, same_bits
from tests.embedding_bag.bag_programs import compile_with
from tests.embedding_bag.test_tables import PIPELINES, POINTERS_MAX, Features, build, kernels_of


def many_tables(count: int) -> tuple[Features, tuple[list[torch.Tensor], list[torch.Tensor]]]:
    model = Features([normal(n, 4, 4) for n in range(count)], range(count))
    ids = [drawn(n, 4, 5) for n in range(count)]
    return model, (ids, [numbers(0, n % 5, 4) for n in range(count)])


class QuantisedFeatures(nn.Module):
    """Bags over tables of 8 or 4 bits, side by side."""

    def __init__(self, count: int, bits: int) -> None:
        super().__init__()
        ops = torch.ops.quantized
        pack = {8: ops.embedding_bag_byte_prepack, 4: ops.embedding_bag_4bit_prepack}[bits]
        self.bags = {8: ops.embedding_bag_byte_rowwise_offsets, 4: ops.embedding_bag_4bit_rowwise_offsets}[
            bits
        ]
        self.count = count
        for n in range(count):
            self.register_buffer(f"table_{n}", pack(normal(n, 4, 6)))

    def forward(self, ids: list[torch.Tensor], offsets: list[torch.Tensor]) -> Any:
        tables = [getattr(self, f"table_{n}") for n in range(self.count)]
        bags = [self.bags(*each) for each in zip(tables, ids, offsets, strict=True)]
        together = torch.cat(bags, 1)
        return together, torch.relu(together)


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize(("count", "bits"), [(4, 8), (4, 4), (100, 8)])
def test_many_quantised_tables(count: int, bits: int, pipeline: str) -> None:
    model, (_, args) = QuantisedFeatures(count, bits), many_tables(count)
    compiled = compile_with(pipeline, torch.export.export(model, args), target="emulate", bounds="raise")
    for found, right in zip(compiled(*args), model(*args), strict=True):
        assert same_bits(found, right)
    bag_kernels = [impl for impl in kernels_of(compiled.graph) if impl == "quantized_bag"]
    assert len(bag_kernels) == (0 if pipeline == "fused" else -(-count // 96))


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("count", [70, 200])
def test_many_tables(count: int, pipeline: str) -> None:
    model, args = many_tables(count)
    compiled = compile_with(pipeline, torch.export.export(model, args), target="emulate", bounds="raise")
    for found, right in zip(compiled(*args), model(*args), strict=True):
        assert same_bits(found, right)


@pytest.mark.parametrize("count", [70, 200, 400])
def test_no_kernel_takes_more_pointers_than_fit(count: int) -> None:
    model, args = many_tables(count)
    made = build(torch.export.export(model, args))
    assert max(len(kernel.params) for kernel in made.module.kernels) <= POINTERS_MAX
    # A group takes up to 96 tables, and the bags are cut off the row program only where they do not fit.
    assert len(made.module.kernels) <= 1 + -(-count // 96)
    assert (count > 70) == ("embedding_bag" in kernels_of(made.graph))


class Lookups(nn.Module):
    """One id a request and table, and a layer on all rows side by side, as in most public CTR models."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.tables = nn.ParameterList(
            [nn.Parameter(normal(n, 4, 2), requires_grad=False) for n in range(count)]
        )
        self.layer = nn.Linear(2 * count, 3)

    def forward(self, ids: list[torch.Tensor]) -> torch.Tensor:
        rows = [F.embedding(each, table) for each, table in zip(ids, self.tables, strict=True)]
        return torch.relu(self.layer(torch.cat(rows, 1)))


@pytest.mark.slow
def test_hundreds_of_lookups_are_a_few_programs() -> None:
    model, args = Lookups(600).eval(), ([drawn(n, 4, 3) for n in range(600)],)
    compiled = compile_with("fused", torch.export.export(model, args), target="emulate", bounds="raise")
    kernels = compiled._build.module.kernels
    assert max(len(kernel.params) for kernel in kernels) <= POINTERS_MAX
    assert len(kernels) <= 7
    torch.testing.assert_close(compiled(*args), model(*args), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_hundreds_of_bags_are_a_few_groups() -> None:
    model, args = many_tables(600)
    compiled = compile_with("fused", torch.export.export(model, args), target="emulate", bounds="raise")
    kernels = compiled._build.module.kernels
    assert max(len(kernel.params) for kernel in kernels) <= POINTERS_MAX
    assert len(kernels) <= 9
    for found, right in zip(compiled(*args), model(*args), strict=True):
        assert same_bits(found, right)
