"""Ids out of range in a fused region: the position counts over the whole batch, the call over all blocks."""

from dataclasses import replace

import pytest
import torch

from dlrmc.codegen.emit import emit_module
from dlrmc.errors import BoundsError
from dlrmc.options import Options
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.passes.fuse_rows import fuse_rows
from dlrmc.runtime.compiled import Compiled
from dlrmc.schedule.build import build_plan
from tests.runtime.programs import make_build, make_program

BATCH = 40
LOOKUP = f"""graph @fused {{
  input %ids : i64[{BATCH},2]
  weight %table : f32[10,4] = "table"
  weight %w : f32[8,4] = "w"
  %rows = embedding(%table, %ids) : f32[{BATCH},2,4]
  %sum = sum(%rows) {{dims=[1]}} : f32[{BATCH},4]
  %y = linear(%sum, %w) {{act=relu}} : f32[{BATCH},8]
  return %y
}}
"""
WEIGHTS = {"table": torch.arange(40.0).reshape(10, 4), "w": torch.eye(8)[:, :4].contiguous()}
FIRST_BAG = f"""graph @bags {{
  input %ids : i64[{2 * BATCH}]
  input %offsets : i64[{BATCH}]
  weight %table : f32[10,4] = "table"
  weight %w : f32[8,4] = "w"
  %bags = embedding_bag(%table, %ids, %offsets) : f32[{BATCH},4]
  %y = linear(%bags, %w) {{act=relu}} : f32[{BATCH},8]
  return %y
}}
"""


def compile_fused(text, args, cache_dir):
    program = make_program(text, WEIGHTS, args, {}, 0)
    build = make_build(program, Options(target="emulate", cache_dir=cache_dir))
    graph = program.graph.copy()
    fuse_rows(graph)
    form_kernels(graph)
    plan = build_plan(graph)
    build = replace(build, graph=graph, plan=plan, module=emit_module(plan, build.target.limits))
    assert [launch.kernel.attributes.str("impl") for launch in plan.launches] == ["row_program"]
    return Compiled(build)


@pytest.mark.parametrize("row", [0, 1, 17, BATCH - 1])
def test_a_lookup_tells_the_position_in_the_whole_batch(cache_dir, row):
    fused = compile_fused(LOOKUP, ("ids",), cache_dir)
    ids = torch.arange(2 * BATCH).reshape(BATCH, 2) % 10
    expected = torch.relu(WEIGHTS["table"][ids].sum(1) @ WEIGHTS["w"].T)
    for _ in range(3):
        torch.testing.assert_close(fused(ids), expected)
    bad = ids.clone()
    bad[row, 1] = 77
    fused(bad)
    with pytest.raises(BoundsError) as caught:
        fused.check()
    error = caught.value
    assert (error.input, error.position, error.value, error.limit) == ("ids", 2 * row + 1, 77, 10)
    assert error.call == 4
    torch.testing.assert_close(fused(ids), expected)


def test_a_bag_tells_the_position_in_all_ids(cache_dir):
    fused = compile_fused(FIRST_BAG, ("ids", "offsets"), cache_dir)
    ids, offsets = torch.arange(2 * BATCH) % 10, torch.arange(0, 2 * BATCH, 2)
    fused(ids, offsets)
    bad = ids.clone()
    bad[51] = -5
    fused(bad, offsets)
    with pytest.raises(BoundsError) as caught:
        fused.check()
    assert (caught.value.input, caught.value.position, caught.value.call) == ("ids", 51, 2)
