"""Bags of ids that a view shows, in tiles of one row and of several: each row has its own ids."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from dlrmc.emulator.launch import run_launches
from dlrmc.emulator.module import EmulatedModule
from dlrmc.ir.reference import evaluate
from dlrmc.schedule.limits import DeviceLimits
from tests.codegen.rows.row_cases import SMALL_DEVICE, RowCase, row_case
from tests.golden.plan_runner import run_plan

# What is shown of [batch, 3, 2] numbers: the ops, with the batch as B, and the shape of a row's part.
SHOWN = {
    "all": ("", (3, 2)),
    "one_list": ("select(%from) {dim=1, index=2} : TYPE[B,2]", (2,)),
    "one_list_kept": ("slice(%from) {dim=1, start=1, stop=2} : TYPE[B,1,2]", (1, 2)),
    "later_lists": ("slice(%from) {dim=1, start=1, stop=3} : TYPE[B,2,2]", (2, 2)),
    "every_other_list": ("slice(%from) {dim=1, start=0, stop=3, step=2} : TYPE[B,2,2]", (2, 2)),
    "first_column": ("slice(%from) {dim=2, start=0, stop=1} : TYPE[B,3,1]", (3, 1)),
    "one_column": ("select(%from) {dim=2, index=1} : TYPE[B,3]", (3,)),
    "turned": ("permute(%from) {perm=[0,2,1]} : TYPE[B,2,3]", (2, 3)),
    "flat": ("view(%from) {shape=[B,6]} : TYPE[B,6]", (6,)),
}
# With one row a tile (more blocks than rows), and with several.
DEVICES = {"one_row": DeviceLimits(), "tall": SMALL_DEVICE}


def program(batch: int, shown: str, *, computed: bool, weighted: bool) -> str:
    op, part = SHOWN[shown]
    entries, length = math.prod(part[:-1]), part[-1]
    lines = [f"input %ids : i64[{batch},3,2]", 'weight %t : f32[7,4] = "t"']
    lines += [f'weight %w : f32[3,{4 * entries}] = "w"']
    lines += _show("ids", "i64", "%seen" if computed else "%ids", op, (batch * entries, length))
    if computed:
        lines[3:3] = ["const %seven : i64[] = 7", f"%seen = remainder(%ids, %seven) : i64[{batch},3,2]"]
    if weighted:
        lines.insert(1, f"input %x : f32[{batch},3,2]")
        lines += _show("x", "f32", "%x", op, (batch * entries, length))
    weights = "%x_of_bags" if weighted else "_"
    lines += [
        f"%e = embedding_bag(%t, %ids_of_bags, _, {weights}) : f32[{batch * entries},4]",
        f"%flat = view(%e) {{shape=[{batch},{4 * entries}]}} : f32[{batch},{4 * entries}]",
        f"%y = linear(%flat, %w) : f32[{batch},3]",
        "return %y",
    ]
    text = "\n  ".join(line.replace("B,", f"{batch},") for line in lines)
    return f"graph @shown {{\n  {text}\n}}\n"


def _show(name: str, dtype: str, source: str, op: str, shape: tuple[int, int]) -> list[str]:
    """The lines from a value to the ids of its bags."""
    lines = [f"%{name}_shown = {op.replace('%from', source).replace('TYPE', dtype)}"] if op else []
    seen = f"%{name}_shown" if op else source
    size = f"[{shape[0]},{shape[1]}]"
    return [*lines, f"%{name}_of_bags = view({seen}) {{shape={size}}} : {dtype}{size}"]


def assert_right(case: RowCase, cache_dir) -> None:
    module = EmulatedModule.build(case.emitted.module.text, case.emitted.entry_points, cache_dir=cache_dir)
    ran = run_plan(case.emitted, case.inputs, case.weights, partial(_launch, module))
    wanted = evaluate(case.emitted.graph, case.inputs, case.weights)
    assert ran.faults == 0
    np.testing.assert_allclose(ran.outputs[0], wanted[0], rtol=3e-6, atol=3e-6)


def _launch(module, launch, buffers) -> None:
    run_launches(module, [launch], buffers)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shown", SHOWN)
def test_ids_of_inputs(own_cache, shown, device):
    case = row_case(program(11, shown, computed=False, weighted=False), limits=DEVICES[device])
    assert len(case.emitted.module.kernels) == 1
    assert_right(case, own_cache)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shown", SHOWN)
def test_ids_that_the_tile_computes_and_weights(own_cache, shown, device):
    case = row_case(program(11, shown, computed=True, weighted=True), limits=DEVICES[device])
    assert_right(case, own_cache)


def test_the_devices_have_tiles_of_one_row_and_of_several():
    grids = [
        row_case(program(11, "all", computed=False, weighted=False), limits=limits)
        .emitted.module.kernels[0]
        .grid
        for limits in DEVICES.values()
    ]
    assert grids[0] == 11
    assert grids[1] < 11
