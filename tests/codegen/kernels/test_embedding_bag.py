"""The embedding_bag kernel, emulated in every order of its threads, against the reference: bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlrmc.codegen.kernels.embedding_bag import EmbeddingBag
from dlrmc.emulator.sanitize import SanitizedWorker
from dlrmc.errors import CodegenError
from dlrmc.ir.types import DType
from dlrmc.passes.form_kernels import POINTERS_MAX
from tests.codegen.anchor_cases import (
    ARCHITECTURES,
    GappedCase,
    assert_builds,
    cases_of_samples,
    check_all_orders,
    check_gapped,
    random_array,
)
from tests.codegen.kernel_cases import (
    Built,
    Case,
    body_of,
    build_cases,
    case_of_op,
    emit_cases,
    prepare,
    run_case,
)

F32, F64, F16, BF16 = DType.F32, DType.F64, DType.F16, DType.BF16


def _offsets(lengths, dtype, with_last):
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)
    return ends if with_last else ends[:-1]


def _bags(
    rows,
    width,
    lengths,
    dtype=F32,
    *,
    ids="i8",
    offsets="i8",
    weights=False,
    last=False,
    mode="sum",
    **options,
):
    """One table, bags of the lengths."""
    rng = np.random.default_rng(rows * width + sum(lengths))
    count = sum(lengths)
    operands = (
        random_array(rng, dtype, rows, width),
        rng.integers(0, rows, count).astype(ids),
        _offsets(lengths, offsets, last),
        random_array(rng, dtype, count) if weights else None,
    )
    attributes = {"mode": mode, "include_last_offset": last, "padding_idx": options.pop("padding", -1)}
    return case_of_op("embedding_bag", operands, attributes, impl="embedding_bag", **options)


def _fixed(rows, width, bags, length, dtype=F32, **options):
    """Ids in two dimensions, no offsets."""
    rng = np.random.default_rng(rows * width + bags)
    operands = (
        random_array(rng, dtype, rows, width),
        rng.integers(0, rows, (bags, length)),
        None,
        random_array(rng, dtype, bags, length) if options.pop("weights", False) else None,
    )
    attributes = {"mode": options.pop("mode", "sum")}
    return case_of_op("embedding_bag", operands, attributes, impl="embedding_bag", **options)


def _group(tables, width, bags, dtype=F32, **options):
    """Tables that differ in rows, lengths of bags, integer types and every option."""
    rng = np.random.default_rng(tables * width + bags)
    columns: list[list] = [[], [], [], [], [], [], []]
    for table in range(tables):
        rows, is_fixed = int(rng.integers(1, 50)), table % 7 == 3
        mode, last = ("sum", "mean", "max")[table % 3], table % 4 == 1 and not is_fixed
        integer, other = ("i4", "i8") if table % 2 else ("i8", "i4")
        lengths = rng.integers(0, 6, bags)
        shape = (bags, 3) if is_fixed else (int(lengths.sum()),)
        has_weights = mode == "sum" and table % 2 == 1
        each = (
            random_array(rng, dtype, rows, width),
            rng.integers(0, rows, shape).astype(integer),
            None if is_fixed else _offsets(lengths, other, last),
            random_array(rng, dtype, *shape) if has_weights else None,
            mode,
            last,
            0 if table % 5 == 2 else -1,
        )
        for column, value in zip(columns, each, strict=True):
            column.append(value)
    names = ("modes", "include_last_offset", "padding_idx")
    attributes = {name: tuple(column) for name, column in zip(names, columns[4:], strict=True)}
    operands = tuple(tuple(column) for column in columns[:4])
    return case_of_op("embedding_bag_group", operands, attributes, impl="embedding_bag", **options)


def _plain_group(tables, bags, width=16, rows=40, length=2):
    """Tables that need the same code."""
    rng = np.random.default_rng(tables)
    operands = (
        tuple(random_array(rng, F32, rows + t, width) for t in range(tables)),
        tuple(rng.integers(0, rows + t, bags * length) for t in range(tables)),
        tuple(np.arange(0, bags * length, length) for _ in range(tables)),
        (),
    )
    return case_of_op("embedding_bag_group", operands, {}, impl="embedding_bag")


SIZES = {
    "one id": _bags(10, 4, [1]),
    "bags of 2": _bags(10, 16, [2] * 17),
    "empty bags everywhere": _bags(5, 5, [0, 3, 0, 0, 7, 0]),
    "only empty bags": _bags(5, 8, [0, 0, 0]),
    "one long bag": _bags(30, 12, [67], indirect=True),
    "width 1": _bags(6, 1, [4, 0, 9]),
    "width 6": _bags(6, 6, [4, 0, 9], ids="i4", offsets="i4"),
    "width 128": _bags(6, 128, [4, 0, 9], ids="i4"),
    "width 130": _bags(6, 130, [4, 0, 9], weights=True, padding=3),
    "width 300": _bags(6, 300, [1, 5], mode="mean", padding=0),
    "means": _bags(9, 8, [4, 0, 5, 3], mode="mean"),
    "maxima": _bags(9, 8, [4, 0, 5, 3], mode="max", last=True),
    "maxima of padding": _bags(2, 4, [4, 1, 5, 3], mode="max", padding=1),
    "weights": _bags(9, 8, [4, 0, 5, 3], weights=True),
    "f16 means": _bags(9, 8, [4, 0, 5], F16, mode="mean"),
    "f16 of odd width": _bags(9, 3, [4, 0, 5], F16, weights=True),
    "bf16": _bags(9, 24, [4, 0, 5], BF16),
    "f64": _bags(9, 6, [4, 0, 9], F64, mode="max"),
    "fixed length": _fixed(9, 8, 5, 3),
    "fixed length, weights": _fixed(9, 8, 5, 3, weights=True),
    "fixed length, means of f64": _fixed(9, 5, 5, 4, F64, mode="mean"),
    "a group of one": _group(1, 16, 4),
    "a group of all kinds": _group(21, 16, 5),
    "a group of odd width": _group(9, 7, 3),
    "a group of f16": _group(8, 8, 17, F16),
    "a plain group": _plain_group(32, 3),
}
SAMPLES = cases_of_samples(("embedding_bag", "embedding_bag_group"), "embedding_bag")


def _windows(g, table, ids, offsets, weights):
    """Columns of a wider table, every other id, a row of the offsets, a column of the weights."""
    return g.add(
        "embedding_bag",
        (
            g.add("slice", (table,), {"dim": 1, "start": 4, "stop": 12}),
            g.add("slice", (ids,), {"dim": 0, "start": 1, "stop": 13, "step": 2}),
            g.add("select", (offsets,), {"dim": 0, "index": 1}),
            g.add("select", (weights,), {"dim": 1, "index": 2}),
        ),
    )


def _transposed(g, table, ids, offsets, weights):
    turned = g.add("permute", (table,), {"perm": (1, 0)})
    fixed = g.add("permute", (g.add("view", (ids,), {"shape": (4, 3)}),), {"perm": (1, 0)})
    bags = g.add("embedding_bag", (turned, fixed, None, None), {"mode": "mean"})
    return g.add("view", (bags,), {"shape": (3, 1, 16)})


def _body_case(build, table: str, ids: str) -> Case:
    body = body_of(build, table, ids, "i64[2,3]", "f32[6,4]")
    rng = np.random.default_rng(3)
    arrays = {
        "a": random_array(rng, F32, *body.inputs[0].shape),
        "b": rng.integers(0, 9, body.inputs[1].shape),
        "c": np.array([[9, 9, 9], [0, 2, 2]]),
        "d": random_array(rng, F32, 6, 4),
    }
    return Case(body, arrays, "embedding_bag")


BODIES = {
    "windows": _body_case(_windows, "f32[9,20]", "i64[13]"),
    "stored transposed": _body_case(_transposed, "f32[16,9]", "i64[12]"),
}
CASES = {**SIZES, **BODIES, **SAMPLES}


@pytest.fixture(scope="module")
def built(own_cache) -> Built:
    return build_cases(list(CASES.values()), own_cache)


@pytest.mark.parametrize("name", CASES)
def test_all_thread_orders_give_the_reference(built, name):
    check_all_orders(built, list(CASES).index(name))


@pytest.mark.parametrize("name", [name for name in SIZES if "mean" not in name])
def test_the_bits_are_those_of_a_sequential_sum(built, name):
    index = list(CASES).index(name)
    ran = run_case(built, index)
    np.testing.assert_array_equal(ran.results[0], CASES[name].wanted()[0])


def test_a_nan_stays_only_where_it_came_first(own_cache):
    table = np.array([[np.nan], [1.0], [-2.0]], np.float32)
    ids, offsets = np.array([0, 1, 1, 0, 2, 2, 0]), np.array([0, 2, 4, 6])
    case = case_of_op("embedding_bag", (table, ids, offsets, None), {"mode": "max"}, impl="embedding_bag")
    ran = run_case(build_cases([case], own_cache), 0)
    np.testing.assert_array_equal(ran.results[0][:, 0], np.array([np.nan, 1, -2, np.nan], np.float32))


def test_a_nan_in_the_padding_row_is_not_read(own_cache):
    table = np.array([[np.nan], [1.0], [3.0]], np.float32)
    operands = (table, np.array([0, 1, 2, 0, 0]), np.array([0, 4]), None)
    case = case_of_op("embedding_bag", operands, {"mode": "mean", "padding_idx": 0}, impl="embedding_bag")
    ran = run_case(build_cases([case], own_cache), 0)
    np.testing.assert_array_equal(ran.results[0][:, 0], np.array([2, 0], np.float32))


# -- ids and offsets out of range ----------------------------------------------------------------------------


def _faulty(ids, offsets, *, mode="sum", last=False, padding=-1, width=8, dtype="i8"):
    table = np.arange(1, 5, dtype=np.float32)[:, None] * np.ones(width, np.float32)
    offsets = None if offsets is None else np.array(offsets, dtype)
    attributes = {"mode": mode, "include_last_offset": last, "padding_idx": padding}
    return case_of_op(
        "embedding_bag", (table, np.array(ids, dtype), offsets, None), attributes, impl="embedding_bag"
    )


BAD_IDS = {
    "one too large": (_faulty([0, 4, 1], [0, 1]), (1, 1, 4, 4), [1, 2]),
    "negative": (_faulty([0, 1, -1], [0, 1]), (1, 2, -1, 4), [1, 2]),
    "huge": (_faulty([0, 2**40, 1], [0, 1]), (1, 1, 2**40, 4), [1, 2]),
    "several slabs report once": (_faulty([0, 4, 1], [0, 1], width=300), (1, 1, 4, 4), [1, 2]),
    "in a mean it is not counted": (_faulty([0, 4, 2], [0, 0], mode="mean"), (1, 1, 4, 4), [0, 2]),
    "in a maximum it is skipped": (_faulty([4, 0, 2], [0, 3], mode="max"), (1, 0, 4, 4), [3, 0]),
    "in two dimensions": (_faulty([[0, 1], [2, 9]], None), (1, 3, 9, 4), [3, 3]),
    "32 bits": (_faulty([0, 9, 1], [0, 1], dtype="i4"), (1, 1, 9, 4), [1, 2]),
    "after the last offset it is not read": (_faulty([0, 1, 9], [0, 1, 2], last=True), None, [1, 2]),
    "padding is not checked twice": (_faulty([1, 3, 7], [0, 1], padding=3), (1, 2, 7, 4), [2, 0]),
}
BAD_OFFSETS = {
    "does not begin at 0": (_faulty([0, 1, 2], [1, 2]), (1, 0, 1, 3), [2, 3]),
    "falls": (_faulty([0, 1, 2], [0, 2, 1]), (1, 2, 1, 3), [3, 0, 5]),
    "beyond the ids": (_faulty([0, 1, 2], [0, 7]), (1, 1, 7, 3), [6, 0]),
    "negative": (_faulty([0, 1, 2], [0, -5, 2]), (1, 1, -5, 3), [0, 3, 3]),
    "the last one is beyond": (_faulty([0, 1, 2], [0, 1, 9], last=True), (1, 2, 9, 3), [1, 5]),
    "the last one falls": (_faulty([0, 1, 2], [0, 2, 1], last=True), (1, 2, 1, 3), [3, 0]),
}
FAULTY = {**{f"id {n}": c for n, c in BAD_IDS.items()}, **{f"offset {n}": c for n, c in BAD_OFFSETS.items()}}


@pytest.fixture(scope="module")
def built_faulty(own_cache) -> Built:
    return build_cases([case for case, _, _ in FAULTY.values()], own_cache)


@pytest.mark.parametrize("order", ["forward", "reverse"])
@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_recorded_and_reads_nothing(built_faulty, name, order):
    case, fault, values = FAULTY[name]
    ran = run_case(built_faulty, list(FAULTY).index(name), order=order)
    width = case.body.outputs[0].shape[1]
    np.testing.assert_array_equal(ran.results[0], np.repeat(np.float32(values)[:, None], width, axis=1))
    if fault is None:
        assert ran.faults["count"] == 0
        return
    got = tuple(int(ran.faults[name]) for name in ("count", "position", "value", "limit"))
    assert got == fault
    kind = built_faulty.source.kernels[list(FAULTY).index(name)].sites
    assert kind[int(ran.faults["site"]) - _first_site(built_faulty, name)].kind == name.split()[0]


def _first_site(built: Built, name: str) -> int:
    return sum(len(kernel.sites) for kernel in built.source.kernels[: list(FAULTY).index(name)])


def test_the_site_names_the_operand_of_the_table():
    kernel = emit_cases([_plain_group(3, 2)]).kernels[0]
    ids = [site.operand for site in kernel.sites if site.kind == "id"]
    offsets = [site.operand for site in kernel.sites if site.kind == "offset"]
    assert ids == ["x3", "x4", "x5"]
    assert offsets == ["x6", "x7", "x8"]


@pytest.mark.slow
def test_nothing_is_read_or_written_out_of_bounds(own_cache):
    cases = [case for case, _, _ in FAULTY.values()] + list(SIZES.values())
    built = build_cases(cases, own_cache, sanitize=True)
    with SanitizedWorker() as worker:
        for index, case in enumerate(cases):
            launch, buffers, _ = prepare(case, built.source.kernels[index])
            worker.run(built.module, [launch], buffers)
        assert worker.starts == 1


# -- text, results with gaps, refusals -----------------------------------------------------------------------


def test_a_table_of_a_plain_group_costs_one_line():
    few, many = (emit_cases([_plain_group(tables, 2)]).kernels[0].text for tables in (20, 120))
    lines = [text.count("\n") for text in (few, many)]
    # A line of the switch; four parameters and the IR's operands stand on lines of their own at most.
    assert (lines[1] - lines[0]) / 100 <= 6
    assert many.count("struct ") == 1


@pytest.mark.parametrize(("strides", "offset"), [((40, 1), 16), ((41, 1), 1), ((70, 2), 0)])
def test_the_result_may_have_gaps(own_cache, strides, offset):
    case = _bags(10, 16, [2, 0, 3])
    gaps = {"result_strides": strides, "result_offset": offset}
    gapped = GappedCase(case.body, case.arrays, "embedding_bag", **gaps)
    check_gapped(build_cases([gapped], own_cache), 0, 3 * strides[0] + offset)


def test_a_group_may_be_written_behind_another_feature(own_cache):
    case = _plain_group(3, 5)
    gaps = {"result_strides": (64, 16, 1), "result_offset": 16}
    gapped = GappedCase(case.body, case.arrays, "embedding_bag", **gaps)
    check_gapped(build_cases([gapped], own_cache), 0, 5 * 64 + 16)


def test_more_pointers_than_a_kernel_takes_are_refused():
    with pytest.raises(CodegenError, match=f"expected: at most {POINTERS_MAX}") as caught:
        emit_cases([_plain_group(POINTERS_MAX // 3 + 1, 1)])
    assert "split its body" in str(caught.value)


def test_the_wanted_threads_are_kept(own_cache):
    case = replace(SIZES["bags of 2"], attributes={"threads": 32})
    assert emit_cases([case]).kernels[0].block == 32
    check_all_orders(build_cases([case], own_cache), 0)


def test_another_anchor_is_refused():
    body = body_of(lambda g, x: g.add("relu", (x,)), "f32[3,4]")
    with pytest.raises(CodegenError, match="one of embedding_bag, embedding_bag_group"):
        EmbeddingBag().check(body)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_builds_it_with_hardly_a_spill(architecture):
    assert_builds([SIZES["a group of all kinds"], _plain_group(120, 64), *BODIES.values()], architecture)
