"""Many tables in one model: of several widths and dtypes, shared by features, too many for one kernel."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import dlrmc
from dlrmc.ir.graph import Graph
from dlrmc.options import Options
from dlrmc.runtime.build import Build
from tests.embedding_bag.bag_cases import W, drawn, normal, numbers, same_bits
from tests.embedding_bag.bag_programs import compile_with

POINTERS_MAX = 4096 // 8
BATCH = 3
PIPELINES = ("fused", "unfused")


def kernels_of(graph: Graph) -> list[str]:
    """The implementation of each kernel."""
    return [node.attributes.str("impl") for node in graph.nodes if node.is_op("kernel")]


def ops_of(graph: Graph) -> Iterator[str]:
    """All ops, those of kernels' bodies too."""
    for node in graph.nodes:
        yield node.op.name
        if node.has_body:
            yield from ops_of(node.body)


def build(program: torch.export.ExportedProgram) -> Build:
    return sys.modules[dlrmc.compile.__module__].build(program, Options(target="reference"))


# -- one table, several features -----------------------------------------------------------------------------


class Features(nn.Module):
    """Each feature reads the table that the map names; its bag is concatenated with the others'."""

    def __init__(self, tables: Sequence[torch.Tensor], table_of: Sequence[int]) -> None:
        super().__init__()
        self.tables = nn.ParameterList([nn.Parameter(table, requires_grad=False) for table in tables])
        self.table_of = tuple(table_of)

    def forward(self, ids: list[torch.Tensor], offsets: list[torch.Tensor]) -> Any:
        bags = [
            F.embedding_bag(each, self.tables[table], begins, mode="sum")
            for each, begins, table in zip(ids, offsets, self.table_of, strict=True)
        ]
        together = torch.cat(bags, 1)
        return together, together * 2


O18_IDS = [(1, 2), (4,), (0,)]
WIDE = torch.arange(15.0).reshape(5, 3)
# The map, the tables, and the features' bags side by side.
O18 = {
    "0-1-0": ((0, 1, 0), (W, 10 * W), [6, 8, 80, 90, 0, 1]),
    "1-0-1": ((1, 0, 1), (W, 10 * W), [60, 80, 8, 9, 0, 10]),
    "0-1-0 of two widths": ((0, 1, 0), (W, WIDE), [6, 8, 12, 13, 14, 0, 1]),
    "1-0-1 of two widths": ((1, 0, 1), (W, WIDE), [9, 11, 13, 8, 9, 0, 1, 2]),
}


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("target", ["reference", "emulate"])
@pytest.mark.parametrize("name", O18)
def test_o18(name: str, target: str, pipeline: str) -> None:
    table_of, tables, right = O18[name]
    args = ([numbers(*ids) for ids in O18_IDS], [numbers(0) for _ in O18_IDS])
    program = torch.export.export(Features(tables, table_of), args)
    compiled = compile_with(pipeline, program, target=target)
    bags, doubled = compiled(*args)
    assert torch.equal(bags, torch.tensor([right], dtype=torch.float32))
    assert torch.equal(doubled, 2 * bags)
    stored = [node.target for node in compiled.graph.nodes if node.is_op("weight")]
    assert sorted(stored) == ["tables.0", "tables.1"]


# -- widths, dtypes, integers, weights -----------------------------------------------------------------------


class Mixed(nn.Module):
    """Tables of several widths and dtypes; ids and offsets of every mix; weights on every other table."""

    WIDTHS = (4, 8, 4, 3, 8, 16, 4, 8, 3)

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        tables = [normal(n, 5 + 7 * n, width, dtype=dtype) for n, width in enumerate(self.WIDTHS)]
        self.tables = nn.ParameterList([nn.Parameter(table, requires_grad=False) for table in tables])

    def requests(self) -> list[dict[str, torch.Tensor]]:
        made: list[dict[str, torch.Tensor]] = []
        integers = (torch.int32, torch.int64)
        for number, table in enumerate(self.tables):
            request = {
                "ids": drawn(number, len(table), 6).to(integers[number % 2]),
                "offsets": numbers(0, 0, 2 + number % 4, dtype=integers[number // 2 % 2]),
            }
            if number % 2:
                request["weights"] = normal(100 + number, 6, dtype=table.dtype)
            made.append(request)
        return made

    def forward(self, requests: list[dict[str, torch.Tensor]]) -> Any:
        bags = [
            F.embedding_bag(
                request["ids"],
                table,
                request["offsets"],
                mode="sum",
                per_sample_weights=request.get("weights"),
            )
            for table, request in zip(self.tables, requests, strict=True)
        ]
        return bags, torch.cat(bags, 1) * 2


DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


@functools.cache
def mixed(dtype: str) -> tuple[Mixed, torch.export.ExportedProgram]:
    model = Mixed(DTYPES[dtype]).eval()
    return model, torch.export.export(model, (model.requests(),))


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tables_of_several_widths(dtype: str, pipeline: str) -> None:
    model, program = mixed(dtype)
    compiled = compile_with(pipeline, program, target="emulate", bounds="raise")
    bags, together = compiled(model.requests())
    right = rounded_once(model, dtype)
    for found, expected in zip(bags, right, strict=True):
        assert same_bits(found, expected)
    assert same_bits(together, torch.cat(right, 1) * 2)


def rounded_once(model: Mixed, dtype: str) -> list[torch.Tensor]:
    """Sums are made in float32 and rounded once, ties to even: bits of eager but for a few of bfloat16."""
    wide = Mixed(torch.float32)
    wide.load_state_dict(model.state_dict())
    with torch.no_grad():
        return [bag.to(DTYPES[dtype]) for bag in wide(_widened(model.requests()))[0]]


def _widened(requests: list[dict[str, torch.Tensor]]) -> list[dict[str, torch.Tensor]]:
    return [
        {name: value.float() if value.is_floating_point() else value for name, value in each.items()}
        for each in requests
    ]


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_are_read_as_given(dtype: str, pipeline: str) -> None:
    compiled = compile_with(pipeline, mixed(dtype)[1], target="reference")
    assert "cast" not in set(ops_of(compiled.graph))


def test_a_group_for_each_width_and_one_kernel_where_all_is_float32() -> None:
    groups = {
        name: [op for op in ops_of(build(mixed(name)[1]).graph) if op.startswith("embedding_bag")]
        for name in DTYPES
    }
    # Width 16 stands alone; tables of 16 bits are grouped alike.
    assert groups["f32"] == groups["f16"] == groups["bf16"]
    assert sorted(groups["f32"]) == ["embedding_bag"] + ["embedding_bag_group"] * 3
    assert kernels_of(build(mixed("f32")[1]).graph) == ["row_program"]


class HalfTables(Mixed):
    """Tables of 16 bits before a dense part of float32."""

    def forward(self, requests: list[dict[str, torch.Tensor]]) -> Any:
        bags = [bag.float() for bag in super().forward(requests)[0]]
        return bags, torch.relu(torch.cat(bags, 1))


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_tables_of_16_bits_before_float32_are_fused_with_it(dtype: str, pipeline: str) -> None:
    model = HalfTables(DTYPES[dtype]).eval()
    program = torch.export.export(model, (model.requests(),))
    compiled = compile_with(pipeline, program, target="emulate", bounds="raise")
    bags, together = compiled(model.requests())
    right = [bag.float() for bag in rounded_once(model, dtype)]
    for found, expected in zip(bags, right, strict=True):
        assert same_bits(found, expected)
    assert same_bits(together, torch.relu(torch.cat(right, 1)))
    if pipeline == "fused":
        assert kernels_of(compiled.graph) == ["row_program"]


def test_arithmetic_in_16_bits_has_kernels_of_its_own() -> None:
    """The groups share one row program; what computes with halves is outside of it."""
    graph = build(mixed("f16")[1]).graph
    assert sorted(kernels_of(graph)) == ["map", "row_program"]
    program = next(
        node for node in graph.nodes if node.has_body and node.attributes.str("impl") == "row_program"
    )
    assert set(ops_of(program.body)) == {"input", "embedding_bag", "embedding_bag_group", "select"}
