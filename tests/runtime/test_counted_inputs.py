"""Numbers of ids that come with each call, in kernels of their own and in row programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dlrmc.codegen.emit import emit_module
from dlrmc.errors import InputError
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.reference import evaluate
from dlrmc.options import Options
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.runtime.counted_inputs import CountCheck, CountedInputs
from dlrmc.runtime.load import fault_log, make_executor
from dlrmc.runtime.metadata_guard import MetadataGuard
from dlrmc.runtime.module_cache import shared_cache
from dlrmc.runtime.tensors import to_numpy
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.plan import BufferRef
from tests.runtime.programs import InputDim, make_build, make_program

SINGLE = """graph @bags {{
  input %ids : i32[{0}]
  input %at : i64[2]
  input %weights : f32[{0}]
  weight %table : f32[10,3] = "table"
  %out = embedding_bag(%table, %ids, %at, %weights) : f32[2,3]
  return %out
}}
"""
GROUP = """graph @bags {{
  input %ids : i64[{0}]
  input %at : i64[2]
  weight %t : f32[10,3] = "table"
  %out = embedding_bag_group([%t, %t], [%ids, %ids], [%at, %at], []) {{modes=[mean,sum]}} : f32[2,2,3]
  return %out
}}
"""
QUANTIZED = """graph @bags {{
  input %ids : i64[{0}]
  input %at : i64[2]
  weight %table : u8[10,12] = "table"
  %out = quantized_embedding_bag(%table, %ids, %at) {{bits=8}} : f32[2,4]
  return %out
}}
"""


def weights_of(text: str) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    if text is not QUANTIZED:
        return {"table": torch.randn(10, 3)}
    codes = torch.randint(0, 200, (10, 4), dtype=torch.uint8).numpy()
    numbers = np.tile(np.float32([0.5, -1.0]), (10, 1)).view(np.uint8)
    return {"table": torch.from_numpy(np.hstack([codes, numbers]))}


def request(text: str, count: int) -> list[torch.Tensor]:
    torch.manual_seed(count)
    ids = torch.randint(10, (count,), dtype=torch.int32 if text is SINGLE else torch.int64)
    inputs = [ids, torch.tensor([0, count // 3])]
    return [*inputs, torch.rand(count)] if text is SINGLE else inputs


@pytest.mark.parametrize("text", [SINGLE, GROUP, QUANTIZED], ids=["single", "group", "quantized"])
def test_kernels_of_their_own_take_any_number(text: str, cache_dir: Path) -> None:
    weights = weights_of(text)
    names = ("ids", "at", "weights")[: 3 if text is SINGLE else 2]
    build = make_build(
        make_program(text.format(5), weights, names, {}, 0), Options(target="emulate", cache_dir=cache_dir)
    )
    counted = (0, 2) if text is SINGLE else (0,)
    plan = build_plan(build.graph, counted)
    assert plan.counted == counted
    build = replace(build, plan=plan, module=emit_module(plan, build.target.limits))
    executor = make_executor(build, shared_cache(cache_dir), fault_log(build))
    for count in (5, 0, 1, 90):
        inputs = request(text, count)
        (found,) = executor.run(inputs)
        arrays = {name: to_numpy(tensor) for name, tensor in zip(names, inputs, strict=True)}
        tables = {name: to_numpy(tensor) for name, tensor in weights.items()}
        (expected,) = evaluate(parse_graph(text.format(count)), arrays, tables)
        np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-5, atol=1e-5)


def test_the_number_stands_in_the_cell_behind_the_pointer(cache_dir: Path) -> None:
    from dlrmc.runtime.addresses import AddressMap

    program = make_program(GROUP.format(5), weights_of(GROUP), ("ids", "at"), {}, 0)
    build = make_build(program, Options(target="emulate", cache_dir=cache_dir))
    plan = build_plan(build.graph, (0,))
    addresses = AddressMap(plan, emit_module(plan, build.target.limits))
    place = addresses.cells.index(BufferRef("input", 0, has_count=True))
    assert addresses.cells[place + 1] == BufferRef("count", 0)
    cells = addresses.cell_pointers([100, 200], [300], [7])
    assert (cells[place], cells[place + 1]) == (100, 7)


@pytest.mark.parametrize(
    "line",
    [
        "%more = add(%ids, %ids) : i64[2]\n  return %out, %more",
        "%more = embedding(%t, %ids) : f32[2,3]\n  return %out, %more",
        "%more = embedding_bag(%t, %ids, %ids) : f32[2,3]\n  return %out, %more",
    ],
)
def test_ids_that_others_read_have_the_number_of_their_type(line: str) -> None:
    graph = parse_graph(GROUP.format(2).replace("return %out", line))
    form_kernels(graph)
    assert build_plan(graph, (0,)).counted == ()


def test_a_guard_looks_past_the_number_of_elements_alone() -> None:
    guard = MetadataGuard(counted=[1])
    guard.learn([torch.zeros(2, 2), torch.arange(4)])
    assert guard.accepts([torch.zeros(2, 2), torch.arange(9)])
    assert guard.accepts([torch.zeros(2, 2), torch.arange(0)])
    assert not guard.accepts([torch.zeros(3, 2), torch.arange(4)])
    assert not guard.accepts([torch.zeros(2, 2), torch.arange(8)[::2]])
    assert not guard.accepts([torch.zeros(2, 2), torch.zeros(4, 1, dtype=torch.int64)])


def test_numbers_are_checked_against_range_and_twin() -> None:
    program = make_program(SINGLE.format(5), weights_of(SINGLE), ("ids", "at", "weights"), {}, 0)
    dims = (
        InputDim("ids", 0, 5, "s1", 2, 9),
        InputDim("offsets", 0, 2),
        InputDim("weights", 0, 5, "s1", 2, 9),
    )
    check = CountCheck(replace(program, input_dims=dims), (0, 2))
    check.check([torch.zeros(4), torch.zeros(2), torch.zeros(4)])
    with pytest.raises(InputError, match=r"ids, dimension 0: s1 = 10\n  expected: 2 <= s1 <= 9"):
        check.check([torch.zeros(10), torch.zeros(2), torch.zeros(10)])
    with pytest.raises(InputError, match=r"weights, dimension 0: s1 = 5\n  expected: 4, as ids has"):
        check.check([torch.zeros(4), torch.zeros(2), torch.zeros(5)])


def test_counts_are_read_in_order() -> None:
    assert CountedInputs((2, 0)).counts([torch.zeros(3), torch.zeros(1), torch.zeros(0)]) == [0, 3]
    assert CountedInputs(()).counts([torch.zeros(3)]) == []
