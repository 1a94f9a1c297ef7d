"""The quantized_bag kernel, emulated in every order of its threads, against the reference: bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlrmc.codegen.kernels.quantized_bag import QuantizedBag
from dlrmc.emulator.sanitize import SanitizedWorker
from dlrmc.errors import CodegenError
from dlrmc.ir.ops.quantized_bags import ROW_FORMATS
from tests.codegen.anchor_cases import (
    ARCHITECTURES,
    GappedCase,
    assert_builds,
    cases_of_samples,
    check_all_orders,
    check_gapped,
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


def _table(rng: np.random.Generator, rows: int, width: int, bits: int) -> np.ndarray:
    """Random codes, scales and biases."""
    row_format = ROW_FORMATS[bits]
    codes = rng.integers(0, 256, (rows, width // row_format.codes), np.uint8)
    numbers = rng.standard_normal((rows, 2)).astype(row_format.number.numpy)
    return np.concatenate([codes, numbers.view(np.uint8)], axis=1)


def _bags(
    width: int, lengths: list[int], bits: int, *, weights: bool = False, last: bool = False, **options: Any
) -> Case:
    rng = np.random.default_rng(width * bits + sum(lengths))
    count = sum(lengths)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(options.pop("offsets", "i8"))
    operands = (
        _table(rng, 9, width, bits),
        rng.integers(0, 9, count).astype(options.pop("ids", "i8")),
        ends if last else ends[:-1],
        rng.standard_normal(count).astype(np.float32) if weights else None,
    )
    attributes = {"bits": bits, "include_last_offset": last}
    return case_of_op("quantized_embedding_bag", operands, attributes, impl="quantized_bag", **options)


def _fixed(width: int, bits: int, *, weights: bool = False) -> Case:
    rng = np.random.default_rng(width)
    operands = (
        _table(rng, 9, width, bits),
        rng.integers(0, 9, (5, 3)),
        None,
        rng.standard_normal((5, 3)).astype(np.float32) if weights else None,
    )
    return case_of_op("quantized_embedding_bag", operands, {"bits": bits}, impl="quantized_bag")


def _group(width: int, bits: int, rows: list[int]) -> Case:
    """Tables of one width, each with bags of 1, 0 and as many ids as its rows."""
    rng = np.random.default_rng(width)
    operands = (
        tuple(_table(rng, count, width, bits) for count in rows),
        tuple(rng.integers(0, count, 1 + count) for count in rows),
        tuple(np.array([0, 1, 1]) for _ in rows),
        (),
    )
    return case_of_op("quantized_embedding_bag_group", operands, {"bits": bits}, impl="quantized_bag")


GROUPS = {
    "bytes, group": _group(12, 8, [3, 9, 1]),
    "bytes, group of odd width": _group(33, 8, [3, 9]),
    "nibbles, group of many": _group(34, 4, [1 + n % 7 for n in range(40)]),
}
SIZES = {
    **{f"bytes, width {width}": _bags(width, [4, 0, 9], 8) for width in (1, 5, 12, 33, 64, 128, 300)},
    **{f"nibbles, width {width}": _bags(width, [4, 0, 9], 4) for width in (2, 6, 12, 34, 64, 128, 300)},
    "bytes, weights": _bags(33, [4, 0, 9], 8, weights=True),
    "nibbles, weights": _bags(34, [4, 0, 9], 4, weights=True, last=True),
    "bytes, one id": _bags(12, [1], 8, indirect=True),
    "bytes, only empty bags": _bags(12, [0, 0, 0], 8),
    "bytes, 32 bits": _bags(16, [2, 5, 0], 8, ids="i4", offsets="i4", last=True),
    "nibbles, 32 bits": _bags(16, [2, 5, 0], 4, ids="i4"),
    "nibbles, one long bag": _bags(6, [67], 4, indirect=True),
    "bytes, fixed length": _fixed(5, 8, weights=True),
    "nibbles, fixed length": _fixed(12, 4),
}


def _windows(g, table, ids, offsets):
    """Rows that end before those of the wider table do, every other id."""
    return g.add(
        "quantized_embedding_bag",
        (
            g.add("slice", (table,), {"dim": 1, "start": 4, "stop": 24}),
            g.add("slice", (ids,), {"dim": 0, "start": 1, "stop": 13, "step": 2}),
            offsets,
            None,
        ),
    )


def _transposed(g, table, ids, offsets):
    turned = g.add("permute", (table,), {"perm": (1, 0)})
    first = g.add("slice", (ids,), {"dim": 0, "start": 0, "stop": 6})
    return g.add("quantized_embedding_bag", (turned, first, offsets, None))


def _body_case(build, shape: str, turned: bool) -> Case:
    body = body_of(build, shape, "i64[13]", "i64[2]")
    rng = np.random.default_rng(3)
    table = _table(rng, 9, 12, 8)
    stored = table.T.copy() if turned else np.pad(table, ((0, 0), (4, 7)))
    arrays = {"a": stored, "b": rng.integers(0, 9, 13), "c": np.array([0, 2])}
    return Case(body, arrays, "quantized_bag")


BODIES = {
    "windows": _body_case(_windows, "u8[9,31]", turned=False),
    "stored transposed": _body_case(_transposed, "u8[20,9]", turned=True),
}
SAMPLES = cases_of_samples(("quantized_embedding_bag", "quantized_embedding_bag_group"), "quantized_bag")
CASES = {**SIZES, **BODIES, **GROUPS, **SAMPLES}


@pytest.fixture(scope="module")
def built(own_cache) -> Built:
    return build_cases(list(CASES.values()), own_cache)


@pytest.mark.parametrize("name", CASES)
def test_all_thread_orders_give_the_bits_of_the_reference(built, name):
    index = list(CASES).index(name)
    check_all_orders(built, index)
    np.testing.assert_array_equal(run_case(built, index).results[0], CASES[name].wanted()[0])


# -- ids and offsets out of range ----------------------------------------------------------------------------


def _faulty(ids: list[int], offsets: list[int], bits: int, width: int = 12) -> Case:
    """Row r of the table is r + 1 in every column."""
    row_format = ROW_FORMATS[bits]
    numbers = np.stack([np.ones(4), np.arange(1, 5)], axis=1).astype(row_format.number.numpy)
    codes = np.zeros((4, width // row_format.codes), np.uint8)
    table = np.concatenate([codes, numbers.view(np.uint8)], axis=1)
    operands = (table, np.array(ids), np.array(offsets), None)
    return case_of_op("quantized_embedding_bag", operands, {"bits": bits}, impl="quantized_bag")


FAULTY = {
    "id too large": (_faulty([0, 4, 1], [0, 1], 8), (1, 1, 4, 4), [1, 2]),
    "id negative": (_faulty([0, 1, -1], [0, 1], 4), (1, 2, -1, 4), [1, 2]),
    "id huge, several slabs": (_faulty([0, 2**40, 1], [0, 1], 8, 600), (1, 1, 2**40, 4), [1, 2]),
    "offset beyond the ids": (_faulty([0, 1, 2], [0, 7], 8), (1, 1, 7, 3), [6, 0]),
    "offset falls": (_faulty([0, 1, 2], [0, 2, 1], 4), (1, 2, 1, 3), [3, 0, 5]),
    "offset does not begin at 0": (_faulty([0, 1, 2], [1, 2], 8), (1, 0, 1, 3), [2, 3]),
}


@pytest.fixture(scope="module")
def built_faulty(own_cache) -> Built:
    return build_cases([case for case, _, _ in FAULTY.values()], own_cache)


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_recorded_and_reads_nothing(built_faulty, name):
    case, fault, values = FAULTY[name]
    ran = run_case(built_faulty, list(FAULTY).index(name))
    width = case.body.outputs[0].shape[1]
    np.testing.assert_array_equal(ran.results[0], np.repeat(np.float32(values)[:, None], width, axis=1))
    assert tuple(int(ran.faults[name]) for name in ("count", "position", "value", "limit")) == fault


@pytest.mark.slow
def test_nothing_is_read_or_written_out_of_bounds(own_cache):
    cases = [case for case, _, _ in FAULTY.values()] + list(SIZES.values())
    built = build_cases(cases, own_cache, sanitize=True)
    with SanitizedWorker() as worker:
        for index, case in enumerate(cases):
            launch, buffers, _ = prepare(case, built.source.kernels[index])
            worker.run(built.module, [launch], buffers)
        assert worker.starts == 1


# -- results with gaps, refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize(("strides", "offset"), [((40, 1), 16), ((41, 1), 1), ((70, 2), 0)])
def test_the_result_may_have_gaps(own_cache, strides, offset):
    case = _bags(16, [2, 0, 3], 8)
    gaps = {"result_strides": strides, "result_offset": offset}
    gapped = GappedCase(case.body, case.arrays, "quantized_bag", **gaps)
    check_gapped(build_cases([gapped], own_cache), 0, 3 * strides[0] + offset)


def test_the_row_offset_is_64_bit_before_the_multiply():
    text = emit_cases([SIZES["bytes, width 128"]]).kernels[0].text
    assert "static constexpr long long TABLE_ROW = 136;" in text


def test_another_anchor_is_refused():
    body = body_of(lambda g, x: g.add("relu", (x,)), "f32[3,4]")
    with pytest.raises(CodegenError, match="one of quantized_embedding_bag"):
        QuantizedBag().check(body)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_builds_it_with_hardly_a_spill(architecture):
    assert_builds([*SIZES.values(), *BODIES.values()], architecture)
