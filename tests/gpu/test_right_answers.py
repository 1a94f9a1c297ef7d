"""EmbeddingBag's table of right answers on a GPU: the cases of tests/embedding_bag, bit for bit."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from dlrmc.errors import BoundsError
from tests.embedding_bag import test_bad_requests as bad_requests
from tests.embedding_bag import test_large_tables as large
from tests.embedding_bag import test_many_tables as many_tables
from tests.embedding_bag import test_quantised as quantised
from tests.embedding_bag import test_tables as tables
from tests.embedding_bag.bag_cases import CASES, numbers, same_bits
from tests.embedding_bag.bag_programs import compile_with, run_family

pytestmark = pytest.mark.gpu
PIPELINES = ("fused", "unfused")


def on_cpu(results: Any) -> Any:
    return pytree.tree_map(lambda tensor: tensor.cpu(), results)


@functools.cache
def family(bags: int, pipeline: str) -> dict[str, Any]:
    return on_cpu(run_family(bags, "cuda", pipeline)[1])


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", CASES)
def test_the_right_answer(name: str, pipeline: str) -> None:
    case = CASES[name]
    bags, negatives = family(case.bags, pipeline)[name]
    assert same_bits(bags, case.answer())
    assert same_bits(negatives, -case.answer())


@functools.cache
def quantised_results(pipeline: str) -> dict[str, Any]:
    return on_cpu(quantised.found("cuda", pipeline))


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", quantised.NAMES)
def test_o26(name: str, pipeline: str) -> None:
    right = quantised.Quantised()(*quantised.ARGS)[name]
    for result, expected in zip(quantised_results(pipeline)[name], right, strict=True):
        assert same_bits(result, expected)


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", bad_requests.BAD)
def test_a_bad_request_is_raised_and_the_next_is_served(name: str, pipeline: str) -> None:
    program = bad_requests.compiled("cuda", pipeline, "raise")
    with pytest.raises(BoundsError) as caught:
        program(*bad_requests.request(name))
    assert bad_requests.BAD[name][2] in caught.value.found
    assert torch.equal(program(*bad_requests.GOOD)[0].cpu(), bad_requests.RIGHT)


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("dtype", tables.DTYPES)
def test_tables_of_several_widths(dtype: str, pipeline: str) -> None:
    model, program = tables.mixed(dtype)
    compiled = compile_with(pipeline, program, target="cuda", bounds="raise")
    bags, together = on_cpu(compiled(model.requests()))
    for found, right in zip(bags, tables.rounded_once(model, dtype), strict=True):
        assert same_bits(found, right)
    assert same_bits(together, torch.cat(bags, 1) * 2)


@pytest.mark.parametrize("count", [70, 200])
def test_many_tables(count: int) -> None:
    model, args = many_tables.many_tables(count)
    compiled = compile_with("fused", torch.export.export(model, args), target="cuda", bounds="raise")
    for found, right in zip(compiled(*args), model(*args), strict=True):
        assert same_bits(found.cpu(), right)


@pytest.mark.parametrize("bits", [8, 4])
def test_many_quantised_tables(bits: int) -> None:
    model, (_, args) = many_tables.QuantisedFeatures(100, bits), many_tables.many_tables(100)
    compiled = compile_with("fused", torch.export.export(model, args), target="cuda", bounds="raise")
    for found, right in zip(compiled(*args), model(*args), strict=True):
        assert same_bits(found.cpu(), right)


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", tables.O18)
def test_o18(name: str, pipeline: str) -> None:
    table_of, values, right = tables.O18[name]
    args = ([numbers(*ids) for ids in tables.O18_IDS], [numbers(0) for _ in tables.O18_IDS])
    program = torch.export.export(tables.Features(values, table_of), args)
    bags, doubled = on_cpu(compile_with(pipeline, program, target="cuda", bounds="raise")(*args))
    assert torch.equal(bags, torch.tensor([right], dtype=torch.float32))
    assert torch.equal(doubled, 2 * bags)


@functools.cache
def large_table(kind: str) -> torch.Tensor:
    """As the tables of tests/embedding_bag/test_large_tables.py, but made on the GPU."""
    width, dtype = {
        "f16": (large.DIM, torch.float16),
        "f32": (large.DIM, torch.float32),
        "8 bits": (large.DIM + 8, torch.uint8),
    }[kind]
    table = torch.zeros(large.ROWS, width, dtype=dtype, device="cuda")
    if kind != "8 bits":
        table[0], table[large.LAST] = 1.0, 7.0
        return table
    for row, code, scale, bias in large.CODED_ROWS:
        table[row, : large.DIM] = code
        table[row, large.DIM :] = torch.tensor([scale, bias]).view(torch.uint8).cuda()
    return table


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("kind", large.TABLES)
def test_o05(kind: str, pipeline: str) -> None:
    args = (numbers(large.LAST, 0, large.LAST, dtype=torch.int32), numbers(0, 1, dtype=torch.int32))
    args = tuple(each.cuda() for each in args)
    program = torch.export.export(large.Large(large_table(kind)).eval(), args)
    bags, _ = compile_with(pipeline, program, target="cuda", bounds="raise")(*args)
    assert torch.equal(bags.float().cpu(), torch.tensor([[7.0], [8.0]]).expand(2, large.DIM))
