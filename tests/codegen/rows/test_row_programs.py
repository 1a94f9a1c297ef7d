"""Whole row programs in the emulator: against the reference, in any order of threads, under sanitizers."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dlrmc.codegen.rows.map_stage import SHORTEST_LINE
from dlrmc.emulator.launch import run_launches
from dlrmc.emulator.module import EmulatedModule
from dlrmc.emulator.orders import run_all_orders
from dlrmc.emulator.sanitize import SanitizedWorker
from dlrmc.ir.reference import evaluate
from tests.codegen.rows.row_cases import (
    RowCase,
    attention_model,
    dot_model,
    mixed_model,
    row_case,
    softmax_model,
)
from tests.golden.plan_runner import run_plan

# Batches of one row, one ragged tile, several tiles a block.
BATCHES = (1, 5, 37)


def run(case: RowCase, cache_dir, *, every_order: bool = False):
    module = EmulatedModule.build(case.emitted.module.text, case.emitted.entry_points, cache_dir=cache_dir)
    launcher = run_all_orders if every_order else run_launches
    runner = partial(_launch, launcher, module)
    return run_plan(case.emitted, case.inputs, case.weights, runner)


def _launch(launcher, module, launch, buffers) -> None:
    launcher(module, [launch], buffers)


def assert_right(case: RowCase, ran) -> None:
    wanted = evaluate(case.emitted.graph, case.inputs, case.weights)
    assert ran.faults == 0
    for found, right in zip(ran.outputs, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=3e-6, atol=3e-6)


def kernel(case: RowCase):
    (only,) = case.emitted.module.kernels
    return only


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("ids_dtype", ["i64", "i32"])
def test_bags_dots_and_layers(own_cache, batch, ids_dtype):
    case = row_case(dot_model(batch, tables=4, dim=6, ids_dtype=ids_dtype))
    assert_right(case, run(case, own_cache))


@pytest.mark.parametrize("batch", BATCHES)
def test_crosses_lookups_attention_and_norms(own_cache, batch):
    case = row_case(mixed_model(batch))
    assert_right(case, run(case, own_cache))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("time", "heads", "width"), [(5, 1, 32), (5, 2, 6), (13, 2, 6), (33, 1, 4)])
def test_attention_with_time_in_front(own_cache, batch, time, heads, width):
    case = row_case(attention_model(batch, time, heads, width))
    assert_right(case, run(case, own_cache))


def test_one_row_with_heads_stacked_in_front_of_it(own_cache):
    case = row_case(
        """graph @heads {
             input %x : f32[1,3,4]
             weight %w : f32[4,4] = "w"
             weight %v : f32[2,12] = "v"
             weight %u : f32[2,2] = "u"
             %a = linear(%x, %w) {act=relu} : f32[1,3,4]
             %h0 = slice(%a) {dim=2, start=0, stop=2} : f32[1,3,2]
             %h1 = slice(%a) {dim=2, start=2, stop=4} : f32[1,3,2]
             %q = cat(%h0, %h1) {dim=0} : f32[2,3,2]
             %z = bmm(%q, %q) {trans_b=true} : f32[2,3,3]
             %p = softmax(%z) {dim=2} : f32[2,3,3]
             %o = bmm(%p, %q) : f32[2,3,2]
             %t = permute(%o) {perm=[1,0,2]} : f32[3,2,2]
             %flat = view(%t) {shape=[1,12]} : f32[1,12]
             %l = linear(%flat, %v) : f32[1,2]
             %s = sum(%t) {dims=[0]} : f32[2,2]
             %r = select(%s) {dim=0, index=1} : f32[2]
             %m = linear(%l, %u) : f32[1,2]
             %y = add(%m, %r) : f32[1,2]
             return %y
           }
        """
    )
    assert_right(case, run(case, own_cache))


def test_a_warp_computes_what_the_elements_of_a_line_share_once(own_cache):
    long, short = (row_case(softmax_model(5, size)) for size in (SHORTEST_LINE, SHORTEST_LINE - 1))
    assert kernel(long).text.count("warp_reduce<") == 2
    assert "warp_reduce<" not in kernel(short).text


def test_tensor_cores_serve_wide_layers_and_many_features(own_cache):
    case = row_case(dot_model(35, tables=20, dim=16, top=40))
    text = kernel(case).text
    assert "LinearTensor<" in text
    assert "PairwiseTensor<" in text
    assert_right(case, run(case, own_cache))


def test_a_block_works_on_several_tiles_in_turn(own_cache):
    case = row_case(dot_model(37, tables=3, dim=4))
    assert kernel(case).grid == 2
    assert "tile += 2" in kernel(case).text
    assert_right(case, run(case, own_cache))


@pytest.mark.parametrize(
    "text", [dot_model(9, tables=4, dim=5), mixed_model(9), attention_model(9, 13, 2, 6)]
)
def test_the_order_of_threads_does_not_matter(own_cache, text):
    case = row_case(text)
    assert_right(case, run(case, own_cache, every_order=True))


@pytest.mark.parametrize(
    "text", [dot_model(19, tables=13, dim=16, top=33), mixed_model(19), attention_model(19, 13, 2, 6)]
)
def test_no_byte_past_a_buffer_is_touched(own_cache, text):
    case = row_case(text)
    module = EmulatedModule.build(
        case.emitted.module.text, case.emitted.entry_points, cache_dir=own_cache, sanitize=True
    )
    with SanitizedWorker() as worker:

        def runner(launch, buffers) -> None:
            worker.run(module, [launch], buffers)

        assert_right(case, run_plan(case.emitted, case.inputs, case.weights, runner))


def test_infinities_and_nans_come_through_tensor_cores_as_they_are(own_cache):
    case = row_case(dot_model(35, tables=20, dim=16, top=40))
    case.inputs["x"][3] = np.inf
    case.inputs["x"][7] = np.nan
    case.weights["t2"][1] = 1e30
    ran = run(case, own_cache)
    wanted = evaluate(case.emitted.graph, case.inputs, case.weights)
    for found, right in zip(ran.outputs, wanted, strict=True):
        np.testing.assert_array_equal(np.isnan(found), np.isnan(right))
        np.testing.assert_array_equal(np.isinf(found), np.isinf(right))


def test_a_bad_id_is_recorded_and_reads_nothing(own_cache):
    case = row_case(dot_model(5, tables=3, dim=4))
    case.inputs["ids1"][:] = 10**9
    assert run(case, own_cache).faults > 0
