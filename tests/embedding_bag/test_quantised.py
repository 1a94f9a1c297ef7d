"""Bags over tables of bytes and nibbles through torch.export and dlrmc.compile: torch's bits on the CPU."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dlrmc.errors import BoundsError
from tests.embedding_bag.bag_cases import drawn, normal, numbers, same_bits
from tests.embedding_bag.bag_programs import compile_with

WAYS = (("reference", "fused"), ("emulate", "fused"), ("emulate", "unfused"))
WAY_NAMES = ["-".join(way) for way in WAYS]
ops = torch.ops.quantized
PACK = {8: ops.embedding_bag_byte_prepack, 4: ops.embedding_bag_4bit_prepack}
BAGS = {8: ops.embedding_bag_byte_rowwise_offsets, 4: ops.embedding_bag_4bit_rowwise_offsets}
# O26: dims of which rows of bytes stand at odd addresses; rows of nibbles hold whole bytes.
WIDTHS = {8: (5, 12, 33), 4: (6, 12, 34)}
IDS, OFFSETS, ENDS = drawn(1, 9, 8), numbers(0, 0, 2, 5), numbers(0, 0, 2, 5, 8)


class Quantised(nn.Module):
    """Tables of every width between float16 tables of odd dims, plain, weighted, and to the last offset."""

    def __init__(self) -> None:
        super().__init__()
        for bits, widths in WIDTHS.items():
            for width in widths:
                self.register_buffer(f"q{bits}_{width}", PACK[bits](normal(width, 9, width)))
                self.register_buffer(f"h{bits}_{width}", normal(width, 9, width + 1, dtype=torch.float16))

    def forward(
        self, ids: torch.Tensor, offsets: torch.Tensor, ends: torch.Tensor, weights: torch.Tensor
    ) -> dict[str, Any]:
        results: dict[str, Any] = {}
        for bits, widths in WIDTHS.items():
            for width in widths:
                table, bags = getattr(self, f"q{bits}_{width}"), BAGS[bits]
                results[f"{bits} bits, width {width}"] = bags(table, ids, offsets)
                results[f"{bits} bits, width {width}, weights"] = bags(
                    table, ids.int(), offsets.int(), per_sample_weights=weights
                )
                if bits == 8:  # torch 2.13 cannot export the 4-bit op with its last offset
                    results[f"{bits} bits, width {width}, ends"] = bags(
                        table, ids, ends, include_last_offset=True
                    )
                half = getattr(self, f"h{bits}_{width}")
                results[f"{bits} bits, f16 beside width {width}"] = F.embedding_bag(
                    ids, half, offsets, mode="sum"
                )
        return {name: (value, -value) for name, value in results.items()}


ARGS = (IDS, OFFSETS, ENDS, normal(2, 8))
NAMES = list(Quantised()(*ARGS))


@functools.cache
def found(target: str, pipeline: str) -> dict[str, Any]:
    program = torch.export.export(Quantised().eval(), ARGS)
    return compile_with(pipeline, program, target=target, bounds="raise")(*ARGS)


@pytest.mark.parametrize(("target", "pipeline"), WAYS, ids=WAY_NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_o26(name: str, target: str, pipeline: str) -> None:
    right = Quantised()(*ARGS)[name]
    for result, expected in zip(found(target, pipeline)[name], right, strict=True):
        assert same_bits(result, expected)


class OneTable(nn.Module):
    def __init__(self, table: torch.Tensor, mode: int = 0) -> None:
        super().__init__()
        self.register_buffer("table", table)
        self.mode = mode

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> Any:
        bags = ops.embedding_bag_byte_rowwise_offsets(self.table, ids, offsets, mode=self.mode)
        return bags, -bags


def test_a_row_reads_back_within_half_a_step() -> None:
    """The row [0, 1, 2, 3, 4] in 255 steps."""
    numbers_of_row = np.array([4 / 255, 0.0], np.float32).view(np.uint8)
    row = np.concatenate([np.array([0, 64, 127, 191, 255], np.uint8), numbers_of_row])
    args = (numbers(0), numbers(0))
    program = torch.export.export(OneTable(torch.from_numpy(row[None])), args)
    bags, _ = compile_with("fused", program, target="emulate")(*args)
    assert (bags - torch.arange(5.0)).abs().max() < 4 / 255 / 2 + 1e-6
    assert torch.allclose(bags, torch.tensor([[0.0, 1.0039, 1.9922, 2.9961, 4.0]]), atol=1e-4)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_torch_sums_whatever_the_mode_says(mode: int) -> None:
    model, args = OneTable(PACK[8](normal(3, 9, 8)), mode), (IDS, OFFSETS)
    bags, _ = compile_with("fused", torch.export.export(model, args), target="reference")(*args)
    assert same_bits(bags, model(*args)[0])
    assert same_bits(bags, OneTable(model.table)(*args)[0])


@pytest.mark.parametrize("pipeline", ["fused", "unfused"])
@pytest.mark.parametrize(("ids", "offsets"), [((0, -1, 2), (0, 1)), ((0, 9, 2), (0, 1)), ((0, 1, 2), (0, 7))])
def test_a_bad_request_is_raised_and_the_next_is_served(
    ids: tuple[int, ...], offsets: tuple[int, ...], pipeline: str
) -> None:
    model, good = OneTable(PACK[8](normal(3, 9, 8))), (numbers(1, 8, 3), numbers(0, 2))
    compiled = compile_with(pipeline, torch.export.export(model, good), target="emulate", bounds="raise")
    with pytest.raises(BoundsError):
        compiled(numbers(*ids), numbers(*offsets))
    assert same_bits(compiled(*good)[0], model(*good)[0])
