"""The map kernel, emulated, against the reference: every op that it takes, and regions of several."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.codegen.kernels.map import Map
from dlrmc.emulator.sanitize import SanitizedWorker
from dlrmc.errors import CodegenError, DlrmcError
from dlrmc.ir.op import Elementwise
from dlrmc.ir.ops import ALL_OPS
from dlrmc.ir.types import DType
from dlrmc.runtime import nvrtc
from tests.codegen.kernel_cases import (
    Built,
    Case,
    assert_close,
    body_of,
    build_cases,
    case_of_op,
    check_case,
    emit_cases,
    prepare,
    run_case,
)
from tests.ir.ops.sample import ids, values
from tests.ir.ops.test_samples import SAMPLES

MAP = Map()


def _takes(case: Case) -> bool:
    try:
        MAP.check(case.body)
    except CodegenError:
        return False
    return True


def _sample_cases() -> list[tuple[str, Case]]:
    """Every sample of every op that map takes, half of them with operands behind slots."""
    made: list[tuple[str, Case]] = []
    for number, sample in enumerate(SAMPLES):
        options = {"indirect": number % 2 == 1, "tolerance": sample.tolerance}
        case = case_of_op(sample.op, sample.operands, sample.attributes, **options)
        if _takes(case):
            made.append((sample.label, case))
    return made


def _op_name(label: str) -> str:
    return label.partition("(")[0]


SAMPLE_CASES = _sample_cases()


@pytest.fixture(scope="module")
def built_samples(own_cache) -> Built:
    return build_cases([case for _, case in SAMPLE_CASES], own_cache)


@pytest.mark.parametrize("op", dict.fromkeys(_op_name(label) for label, _ in SAMPLE_CASES))
def test_every_sample_of_an_op_is_the_reference(built_samples, op):
    for index, (label, _) in enumerate(SAMPLE_CASES):
        if _op_name(label) == op:
            check_case(built_samples, index, place=label)


def test_every_elementwise_op_view_lookup_and_reduction_is_taken():
    taken = {node.op.name for _, case in SAMPLE_CASES for node in case.body.nodes}
    wanted = {op.name for op in ALL_OPS if isinstance(op, Elementwise)}
    wanted |= {"view", "permute", "expand", "slice", "select", "cat"}
    wanted |= {"embedding", "index", "index_select", "gather"}
    wanted |= {"sum", "mean", "amax", "amin", "prod", "softmax", "log_softmax", "layer_norm"}
    wanted |= {"argsort", "cumsum", "cumprod"}
    assert taken - {"input", "const"} == wanted


# -- regions of several ops ----------------------------------------------------------------------------------


def _chain(g, a, b):
    half = g.const("half", np.float32(0.5))
    scaled = g.add("mul", (g.add("add", (a, b)), half))
    return g.add("sigmoid", (g.add("sub", (scaled, g.add("relu", (b,)))),))


def _views(g, a):
    turned = g.add("permute", (a,), {"perm": (2, 0, 1)})
    flat = g.add("view", (turned,), {"shape": (4, 6)})
    part = g.add("slice", (flat,), {"dim": 1, "start": 1, "stop": 6, "step": 2})
    return g.add("neg", (g.add("view", (part,), {"shape": (2, 2, 3)}),))


def _cat_of_computed(g, a, b):
    parts = (g.add("exp", (a,)), g.add("select", (b,), {"dim": 1, "index": 1}), a)
    return g.add("relu", (g.add("cat", (parts,), {"dim": 1}),))


def _stack(g, a, b):
    rows = tuple(g.add("view", (x,), {"shape": (3, 1, 4)}) for x in (a, b, a))
    stacked = g.add("cat", (rows,), {"dim": 1})
    return g.add("view", (stacked,), {"shape": (3, 12)})


def _cat_of_slices(g, a):
    left = g.add("slice", (a,), {"dim": 0, "start": 2, "stop": 5})
    right = g.add("slice", (a,), {"dim": 0, "start": 0, "stop": 2})
    both = g.add("cat", ((left, right),), {"dim": 0})
    return g.add("slice", (both,), {"dim": 0, "start": 1, "stop": 5, "step": 3})


def _two_results(g, a):
    total = g.add("exp", (a,))
    return total, g.add("view", (g.add("neg", (total,)),), {"shape": (4, 3)}), total


def _softmax_sum(g, a):
    weights = g.add("softmax", (a,), {"dim": 1})
    return g.add("sum", (g.add("mul", (weights, a)),), {"dims": (1,)})


def _normalise(g, a, w, b):
    return g.add("relu", (g.add("layer_norm", (a, w, b), {"eps": 1e-5}),))


def _row_scale(g, a):
    largest = g.add("amax", (g.add("abs", (a,)),), {"dims": (1,), "keepdim": True})
    return g.add("div", (a, largest))


def _middle_softmax(g, a):
    return g.add("softmax", (a,), {"dim": 1})


def _column_mean(g, a):
    return g.add("sub", (a, g.add("mean", (a,), {"dims": (0,), "keepdim": True})))


def _fixed_bag(g, table, lookups):
    rows = g.add("embedding", (table, lookups))
    return g.add("sum", (rows,), {"dims": (1,)})


def _triangle(g, z):
    i = g.const("i", np.array([1, 2, 2]))
    j = g.const("j", np.array([0, 0, -2]))
    return g.add("index", (z, (None, i, j)))


def _one_element(g, z):
    last = g.const("last", np.array(-1))
    return g.add("index", (z, (None, last)))


def _special_table(g, a):
    table = g.const("table", np.array([np.inf, -np.inf, np.nan, -0.0, 1e-45, 3.5], np.float32))
    return g.add("add", (a, table))


def _wide_table(g, a):
    table = g.const("table", np.array([np.inf, np.nan, -0.5]))
    return g.add("add", (a, table))


def _half_table(g, a):
    table = g.const("table", np.array([0.1, -2.0, np.inf], np.float16))
    return g.add("mul", (a, table))


def _bool_table(g, a):
    mask = g.const("mask", np.array([True, False, True]))
    zero = g.const("zero", np.float32(0))
    return g.add("where", (mask, a, zero))


def _half_chain(g, a, b):
    return g.add("mul", (g.add("add", (a, b)), g.add("sub", (a, b))))


def _copy(g, a):
    return a


def _gathered_reduction(g, a, lookups):
    return g.add("index_select", (g.add("sum", (a,), {"dims": (1,)}), lookups), {"dim": 0})


def _reduction_in_a_part(g, a):
    return g.add("cat", ((g.add("sum", (a,), {"dims": (1,), "keepdim": True}), a),), {"dim": 1})


F32 = DType.F32
REGIONS: dict[str, tuple[object, tuple[np.ndarray, ...], dict[str, object]]] = {
    "chain": (_chain, (values(F32, 5, 7), values(F32, 7, seed=1)), {}),
    "chain of scalars": (_chain, (values(F32), values(F32, seed=1)), {}),
    "many blocks": (_chain, (values(F32, 11, 101), values(F32, 101)), {}),
    "threads": (_chain, (values(F32, 11, 101), values(F32, 101)), {"attributes": {"threads": 64}}),
    "views": (_views, (values(F32, 2, 3, 4),), {}),
    "cat of computed": (_cat_of_computed, (values(F32, 3, 4), values(F32, 3, 2, 5)), {}),
    "stack": (_stack, (values(F32, 3, 4), values(F32, 3, 4, seed=1)), {}),
    "cat of slices": (_cat_of_slices, (values(F32, 5, 3),), {}),
    "results of equal size": (_two_results, (values(F32, 2, 6),), {}),
    "softmax inside a sum, short": (_softmax_sum, (values(F32, 3, 5),), {}),
    "softmax inside a sum, long": (_softmax_sum, (values(F32, 3, 70),), {}),
    "layer norm, short": (_normalise, (values(F32, 3, 2, 9), values(F32, 9), values(F32, 9, seed=1)), {}),
    "layer norm, long": (_normalise, (values(F32, 3, 2, 77), values(F32, 77), values(F32, 77, seed=1)), {}),
    "layer norm, one row": (
        _normalise,
        (values(F32, 1, 300), values(F32, 300), values(F32, 300, seed=1)),
        {},
    ),
    "row scale": (_row_scale, (values(F32, 9, 64),), {}),
    "softmax of a middle dim": (_middle_softmax, (values(F32, 2, 40, 5),), {}),
    "softmax in bf16": (_middle_softmax, (values(DType.BF16, 4, 65),), {}),
    "softmax in f64": (_middle_softmax, (values(DType.F64, 4, 65),), {}),
    "mean of columns": (_column_mean, (values(F32, 50, 3),), {}),
    "fixed bag": (_fixed_bag, (values(F32, 6, 4), ids(DType.I64, 6, 5, 3)), {}),
    "fixed bag, long": (_fixed_bag, (values(F32, 6, 4), ids(DType.I32, 6, 2, 33)), {}),
    "pairs by constants": (_triangle, (values(F32, 2, 3, 3),), {}),
    "last element": (_one_element, (values(F32, 2, 3, 4),), {}),
    "table of special values": (_special_table, (values(F32, 2, 6),), {}),
    "table of special f64": (_wide_table, (values(DType.F64, 2, 3),), {}),
    "table of f16": (_half_table, (values(DType.F16, 2, 3),), {"tolerance": 0.0}),
    "table of bool": (_bool_table, (values(F32, 2, 3),), {}),
    "f16 is rounded after each op": (_half_chain, (values(DType.F16, 40), values(DType.F16, 40, seed=1)), {}),
    "bf16 is rounded after each op": (
        _half_chain,
        (values(DType.BF16, 40), values(DType.BF16, 40, seed=1)),
        {},
    ),
    "copy": (_copy, (values(F32, 3, 5),), {}),
    "copy of bool": (_copy, (values(DType.BOOL, 3, 5),), {}),
    "lookup in a reduction": (_gathered_reduction, (values(F32, 4, 40), ids(DType.I64, 4, 6)), {}),
    "reduction in a part": (_reduction_in_a_part, (values(F32, 4, 40),), {}),
}
EXACT = ("f16 is rounded after each op", "bf16 is rounded after each op", "copy", "copy of bool")


def _region_case(name: str) -> Case:
    build, arrays, options = REGIONS[name]
    types = [f"{DType.of_numpy(a.dtype)}[{','.join(map(str, a.shape))}]" for a in arrays]
    body = body_of(build, *types)
    named = {node.name: array for node, array in zip(body.inputs, arrays, strict=True)}
    return Case(body, named, indirect=len(name) % 2 == 0, **options)


@pytest.fixture(scope="module")
def built_regions(own_cache) -> Built:
    return build_cases([_region_case(name) for name in REGIONS], own_cache)


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
@pytest.mark.parametrize("name", REGIONS)
def test_a_region_is_the_reference_in_any_order_of_threads(built_regions, name, order):
    check_case(built_regions, list(REGIONS).index(name), order=order)


@pytest.mark.parametrize("name", EXACT)
def test_bits_are_those_of_the_reference(built_regions, name):
    index = list(REGIONS).index(name)
    got, wanted = run_case(built_regions, index).results[0], built_regions.cases[index].wanted()[0]
    assert got.tobytes() == wanted.tobytes()


def _text(name: str) -> str:
    return emit_cases([_region_case(name)]).kernels[0].text


def test_a_packed_chain_reads_and_writes_at_the_threads_number():
    text = _text("many blocks")
    assert "const float v_a = a_in[i];" in text
    assert "const float v_b = b_in[i % 101];" in text
    assert "_out[i] = v_sigmoid;" in text
    assert text.count("[") == 3 + text.split("extern")[0].count("[")


def test_a_value_used_twice_is_computed_once():
    assert _text("results of equal size").count("expf(") == 1
    assert _text("f16 is rounded after each op").count("to_float(") == 2


def test_long_rows_go_to_warps_and_short_ones_to_threads():
    for name in ("layer norm, long", "softmax inside a sum, long", "row scale", "softmax of a middle dim"):
        assert "warp_reduce<" in _text(name)
    for name in ("layer norm, short", "softmax inside a sum, short", "chain"):
        assert "warp_reduce<" not in _text(name)


def test_a_softmax_inside_of_a_sum_is_not_recomputed_in_its_loop():
    # Largest, total, and the sum itself: three loops, none of them in another.
    for name in ("softmax inside a sum, short", "softmax inside a sum, long"):
        lines = [line for line in _text(name).splitlines() if "for (" in line]
        assert len(lines) == 3
        assert {len(line) - len(line.lstrip()) for line in lines} == {4}


def test_a_stack_of_views_needs_no_index_of_its_own():
    assert " % 1" not in _text("stack")
    assert "_at = " not in _text("stack")


def test_constant_pairs_are_a_table_without_checks():
    kernel = emit_cases([_region_case("pairs by constants")]).kernels[0]
    assert "static __device__ const long long" in kernel.text
    assert kernel.sites == ()
    assert "faults" not in kernel.text


# -- strides, widths, launches -------------------------------------------------------------------------------


def test_strides_of_operands_and_results_are_those_of_the_launch(own_cache):
    from dataclasses import replace

    from dlrmc.codegen.emit import emit_module
    from dlrmc.emulator.launch import run_launches
    from dlrmc.emulator.module import EmulatedModule
    from dlrmc.schedule.limits import DeviceLimits
    from tests.codegen.kernel_cases import plan_of

    body = body_of(lambda g, a: g.add("neg", (a,)), "f32[2,3]")
    case = Case(body, {"a": values(F32, 2, 3)})
    plan = plan_of([case])
    launch = replace(plan.launches[0], operand_strides=((1, 4),), result_strides=((10, 2),))
    source = emit_module(replace(plan, launches=(launch,)), DeviceLimits())
    kernel = source.kernels[0]
    module = EmulatedModule.build(source.text, [(kernel.name, 2)], cache_dir=own_cache)
    wide_in, wide_out = values(F32, 3, 4), np.zeros((2, 10), np.float32)
    request, _, _ = prepare(case, kernel)
    run_launches(module, [request], [wide_in, wide_out])
    np.testing.assert_array_equal(wide_out[:, 0:6:2], -wide_in[:, :2].T)
    assert np.count_nonzero(wide_out[:, 1::2]) == 0
    assert np.count_nonzero(wide_out[:, 6:]) == 0


def test_indices_are_as_wide_as_the_largest_buffer_needs():
    neg = lambda g, a: g.add("neg", (a,))  # noqa: E731
    small = emit_cases([Case(body_of(neg, "f32[1024,2097150]"), {})]).kernels[0]
    large = emit_cases([Case(body_of(neg, "f32[1024,2097152]"), {})]).kernels[0]
    assert "const int i = blockIdx.x * 256 + threadIdx.x;" in small.text
    assert "const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;" in large.text
    assert large.grid == 1024 * 2097152 // 256


def test_a_row_of_a_large_table_is_found_in_64_bits():
    body = body_of(lambda g, t, i: g.add("embedding", (t, i)), "f16[16777224,128]", "i32[1]")
    text = emit_cases([Case(body, {})]).kernels[0].text
    assert "const long long b_id = v_b;" in text
    assert "a_in[b_id * 128 + i]" in text


def test_the_block_is_no_larger_than_the_work():
    tiny = emit_cases([Case(body_of(_copy, "f32[3]"), {})]).kernels[0]
    assert (tiny.grid, tiny.block, tiny.shared_bytes) == (1, 32, 0)
    rows = emit_cases([_region_case("row scale")]).kernels[0]
    assert (rows.grid, rows.block) == (2, 256)
    one_row = emit_cases([_region_case("layer norm, one row")]).kernels[0]
    assert (one_row.grid, one_row.block) == (1, 32)


# -- refusals ------------------------------------------------------------------------------------------------


def test_an_op_that_map_does_not_take_is_named():
    body = body_of(lambda g, a, b: g.add("mm", (a, b)), "f32[2,3]", "f32[3,2]")
    with pytest.raises(CodegenError, match="kernel map, %mm: op mm"):
        MAP.check(body)


def test_results_of_different_sizes_are_refused():
    body = body_of(lambda g, a, b: (a, b), "f32[2,3]", "f32[3]")
    with pytest.raises(CodegenError, match=r"\[6, 3\] elements"):
        MAP.check(body)


def test_an_empty_result_is_refused():
    with pytest.raises(DlrmcError, match="the plan leaves out empty kernels"):
        MAP.check(body_of(_copy, "f32[0,3]"))


# -- faults --------------------------------------------------------------------------------------------------


def _fault_cases() -> dict[str, tuple[Case, np.ndarray, tuple[str, str, int, int, int]]]:
    """Case, wanted result (zero for a bad id), and the fault: operand, kind, position, value, limit."""
    table = values(F32, 4, 3)
    bad = np.array([[1, 0], [4, 3], [2, 2]])
    rows = np.where((bad < 4)[..., None], table[np.minimum(bad, 3)], 0).astype(np.float32)
    negative = np.array([2, -1], np.int32)
    picked = np.stack([table[2], np.zeros(3, np.float32)])
    wrapped = np.array([-4, 3, -5])
    indexed = np.stack([table[0], table[3], np.zeros(3, np.float32)])
    column = body_of(
        lambda g, t, i: g.add("index_select", (t, g.add("select", (i,), {"dim": 1, "index": 1})), {"dim": 0}),
        "f32[4,3]",
        "i64[3,2]",
    )
    strided = np.array([[9, 0], [9, 1], [9, 7]])
    strided_rows = np.stack([table[0], table[1], np.zeros(3, np.float32)])
    along = np.array([[0, 5, 2]])
    gathered = np.array([[table[0, 0], 0, table[2, 2]]], np.float32)
    return {
        "embedding": (case_of_op("embedding", (table, bad), {}), rows, ("x1", "id", 2, 4, 4)),
        "index_select": (
            case_of_op("index_select", (table, negative), {"dim": 0}),
            picked,
            ("x1", "index", 1, -1, 4),
        ),
        "index": (case_of_op("index", (table, (wrapped,)), {}), indexed, ("x1", "index", 2, -5, 4)),
        "gather": (case_of_op("gather", (table, along), {"dim": 0}), gathered, ("x1", "index", 1, 5, 4)),
        "view of ids": (Case(column, {"a": table, "b": strided}), strided_rows, ("b", "index", 5, 7, 4)),
    }


FAULT_CASES = _fault_cases()


@pytest.fixture(scope="module")
def built_faults(own_cache) -> Built:
    return build_cases([case for case, _, _ in FAULT_CASES.values()], own_cache)


@pytest.mark.parametrize("name", FAULT_CASES)
def test_a_bad_id_reads_nothing_and_is_recorded(built_faults, name):
    index = list(FAULT_CASES).index(name)
    _, wanted, (operand, kind, position, value, limit) = FAULT_CASES[name]
    ran, kernel = run_case(built_faults, index), built_faults.source.kernels[index]
    assert_close(ran.results[0], wanted)
    # Every thread that needs the id counts it; the first one describes it.
    assert 1 <= ran.faults["count"] <= wanted.size
    assert (ran.faults["position"], ran.faults["value"], ran.faults["limit"]) == (position, value, limit)
    assert ran.faults["site"] == index
    (site,) = kernel.sites
    assert (site.kernel, site.operand, site.kind) == (kernel.name, operand, kind)


def test_sites_are_numbered_through_the_module(built_faults):
    for number, kernel in enumerate(built_faults.source.kernels):
        assert f"record_fault(faults, {number}, " in kernel.text
        assert kernel.params[-1].name == "faults"


def test_the_same_ids_checked_twice_are_one_check():
    def twice(g, table, lookups):
        rows = g.add("embedding", (table, lookups))
        return g.add("add", (rows, g.add("relu", (g.add("embedding", (table, lookups)),))))

    (kernel,) = emit_cases([Case(body_of(twice, "f32[4,3]", "i64[5]"), {})]).kernels
    assert kernel.text.count("record_fault(") == 1
    assert len(kernel.sites) == 1


# -- under AddressSanitizer, with buffers of exactly their size ---------------------------------------------


@pytest.mark.slow
def test_no_region_and_no_bad_id_touches_a_byte_outside_of_its_buffers(own_cache):
    cases = [*(_region_case(name) for name in REGIONS), *(case for case, _, _ in FAULT_CASES.values())]
    cases += [case for label, case in SAMPLE_CASES if _op_name(label) in ("cat", "index", "gather")]
    built = build_cases(cases, own_cache, sanitize=True)
    with SanitizedWorker() as worker:
        for index, case in enumerate(cases):
            launch, buffers, faults = prepare(case, built.source.kernels[index])
            worker.run(built.module, [launch], buffers)
            if not faults["count"][0]:
                results = buffers[len(case.body.inputs) :]
                for got, wanted in zip(results, case.wanted(), strict=False):
                    assert_close(got, wanted, case.tolerance)
        assert worker.starts == 1


# -- the real compiler ---------------------------------------------------------------------------------------


def _one_of_each() -> list[Case]:
    """One sample of every op and dtype, and all regions."""
    chosen = {(label.split("{")[0].split("[")[0], *_dtypes(case)): case for label, case in SAMPLE_CASES}
    return [*chosen.values(), *(_region_case(name) for name in REGIONS)]


def _dtypes(case: Case) -> tuple[str, ...]:
    return tuple(str(node.type.dtype) for node in case.body.nodes)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_nvrtc_builds_every_kernel_without_a_spill(architecture):
    source = emit_cases(_one_of_each())
    cubin = nvrtc.compile_source(source.text, architecture)
    assert {kernel.name for kernel in cubin.kernels} == {kernel.name for kernel in source.kernels}
    assert not [kernel.name for kernel in cubin.kernels if kernel.spills]
