"""Products with an epilogue of elementwise ops: each form of the kernel, emulated, against the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlrmc.codegen.kernels.linear_tile import ProductTile, TensorProductTile, WarpgroupTile
from dlrmc.errors import CodegenError
from dlrmc.ir.types import DType, TensorType
from dlrmc.runtime import nvrtc
from tests.codegen.anchor_cases import (
    ARCHITECTURES,
    FEW_SPILLED_BYTES,
    assert_builds,
    check_all_orders,
    random_array,
)
from tests.codegen.kernel_cases import Case, body_of, build_cases, emit_cases, run_case
from tests.codegen.product_cases import build_with, emit_with

F32, F64, F16, BF16 = DType.F32, DType.F64, DType.F16, DType.BF16
TOLERANCES = {F32: 1e-5, F64: 1e-12, F16: 4e-3, BF16: 3e-2}


def _case(build, *shapes: tuple[int, ...], dtype: DType = F32, **options) -> Case:
    """x, w and the other operands of a body, of these shapes."""
    body = body_of(build, *(f"{dtype}[{','.join(map(str, shape))}]" for shape in shapes))
    rng = np.random.default_rng(11)
    arrays = {node.name: random_array(rng, dtype, *node.shape) for node in body.inputs}
    return Case(body, arrays, impl="linear", tolerance=TOLERANCES[dtype], **options)


def _linear(g, x, w, bias=None, **attributes):
    return g.add("linear", ((x,), w, bias), attributes)


def _cross(g, x, w, b, x0, x1):
    return g.add("add", (g.add("mul", (x0, _linear(g, x, w, b))), x1))


def _residual(g, x, w, b, other):
    return g.add("add", (other, _linear(g, x, w, b, act="relu")))


def _gate(g, x, w, v):
    return g.add("mul", (g.add("sigmoid", (_linear(g, x, w),)), v))


def _two_readers(g, x, w):
    y = _linear(g, x, w)
    return g.add("mul", (y, g.add("sigmoid", (y,))))


def _row_and_column(g, x, w, column, row):
    scaled = g.add("mul", (_linear(g, x, w, act="tanh"), column))
    return g.add("sub", (scaled, g.add("relu", (row,))))


def _scalars(g, x, w, b):
    half = g.const("half", np.float32(0.5), TensorType(F32, ()))
    return g.add("mul", (g.add("maximum", (_linear(g, x, w, b), half)), half))


def _windows(g, x, w, wide):
    """The operand is columns of a wider matrix, and the result has another shape."""
    left = g.add("slice", (wide,), {"dim": 1, "start": 2, "stop": 2 + w.shape[0]})
    sum = g.add("add", (_linear(g, x, w), left))
    return g.add("view", (sum,), {"shape": (2, x.shape[0] // 2, w.shape[0])})


def _rounded(g, x, w, other):
    return g.add("round_tf32", (g.add("add", (_linear(g, x, w), other)),))


def _broadcast_heads(g, x, w, other):
    """[B, T, N] and an operand of every T."""
    return g.add("add", (_linear(g, x, w), other))


def _column_by_column(g, x, w, columns):
    """The operand stands in memory column by column."""
    return g.add("add", (_linear(g, x, w), g.add("permute", (columns,), {"perm": (1, 0)})))


def cases(rows: int, n: int, k: int) -> dict[str, Case]:
    y = (rows, n)
    return {
        "cross": _case(_cross, (rows, k), (n, k), (n,), y, y),
        "residual": _case(_residual, (rows, k), (n, k), (n,), y, indirect=True),
        "gate": _case(_gate, (rows, k), (n, k), y),
        "two readers": _case(_two_readers, (rows, k), (n, k)),
        "row and column": _case(_row_and_column, (rows, k), (n, k), (rows, 1), (n,)),
        "scalars": _case(_scalars, (rows, k), (n, k), (n,)),
        "windows": _case(_windows, (rows, k), (n, k), (rows, n + 4)),
        "column by column": _case(_column_by_column, (rows, k), (n, k), (n, rows)),
        "rounded": replace(_case(_rounded, (rows, k), (n, k), y), tolerance=2.0**-10),
        "of rank 3": _case(_broadcast_heads, (2, rows // 2, k), (n, k), (2, rows // 2, n)),
    }


TILES = (
    ProductTile(32, 32, 16, 2, 4),
    TensorProductTile(32, 32, (1, 1, 8), 1, 4),
    TensorProductTile(64, 128, (2, 4, 1), 2, 4),
    WarpgroupTile(64, 64, 4),
    WarpgroupTile(64, 32, 3, over_k=2),
)
SMALL = cases(6, 5, 8) | cases(18, 40, 12)
LARGE = cases(66, 44, 36)
DTYPES = {
    str(dtype): _case(_cross, (17, 24), (12, 24), (12,), (17, 12), (17, 12), dtype=dtype)
    for dtype in (F64, F16, BF16)
}


@pytest.fixture(scope="module")
def small(own_cache):
    return build_cases([*SMALL.values(), *DTYPES.values()], own_cache)


@pytest.mark.parametrize("name", [*SMALL, *DTYPES])
def test_tiles_of_whole_rows(small, name):
    index = [*SMALL, *DTYPES].index(name)
    assert "LinearRows<" in small.source.kernels[index].text
    check_all_orders(small, index)


@pytest.fixture(scope="module", params=TILES, ids=str)
def large(request, own_cache):
    return build_with(list(LARGE.values()), request.param, own_cache)


@pytest.mark.parametrize("name", LARGE)
def test_tiles_of_large_products(large, name):
    check_all_orders(large, list(LARGE).index(name))


@pytest.mark.parametrize("dtype", [F64, F16, BF16], ids=str)
def test_products_in_chunks_of_other_dtypes(own_cache, dtype):
    case = _case(_cross, (65, 34), (70, 34), (70,), (65, 70), (65, 70), dtype=dtype)
    check_all_orders(build_with([case], TILES[0], own_cache), 0)


def test_a_sum_that_is_not_finite_reaches_the_epilogue(own_cache):
    case = LARGE["cross"]
    arrays = {name: array.copy() for name, array in case.arrays.items()}
    arrays["a"][3, 5], arrays["b"][7, 5] = np.inf, 1.0
    for tile in (TILES[2], TILES[3]):
        built = build_with([Case(case.body, arrays, impl="linear", tolerance=1e-5)], tile, own_cache)
        result = run_case(built, 0).results[0]
        assert np.isinf(result[3, 7])
        assert np.isfinite(result[4]).all()
        check_all_orders(built, 0)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_form_builds(arch):
    assert_builds([SMALL["cross"], *DTYPES.values()], arch)
    for tile in TILES[:3]:
        source = emit_with([LARGE["cross"], LARGE["row and column"]], tile)
        cubin = nvrtc.compile_source(source.text, arch)
        assert max(kernel.spill_store_bytes for kernel in cubin.kernels) <= FEW_SPILLED_BYTES


@pytest.mark.parametrize("tile", TILES[3:], ids=str)
def test_warpgroups_build_without_spills(tile):
    for precision in ("fp32", "tf32"):
        cubin = nvrtc.compile_source(emit_with([LARGE["cross"]], tile, precision).text, "sm_90a")
        assert not [kernel for kernel in cubin.kernels if kernel.spill_store_bytes]


def _text(build, *shapes, **options) -> str:
    return emit_cases([_case(build, *shapes, **options)]).text


def _summed(g, x, w):
    return g.add("sum", (_linear(g, x, w),), {"dims": (1,), "keepdim": True})


def _turned(g, x, w):
    return g.add("permute", (_linear(g, x, w),), {"perm": (1, 0)})


def _two_products(g, x, w):
    return g.add("add", (_linear(g, x, w), _linear(g, x, w, act="relu")))


@pytest.mark.parametrize(
    ("build", "found"),
    [(_summed, "op sum"), (_turned, "op permute"), (_two_products, "2 products")],
)
def test_other_bodies_are_refused(build, found):
    with pytest.raises(CodegenError, match=found):
        _text(build, (4, 4), (4, 4))


def test_an_operand_is_loaded_in_packs_where_it_is_aligned():
    assert "epilogue_operand<2>" in emit_with([LARGE["gate"]], TILES[3]).text
    assert "epilogue_operand<1>" in emit_with([cases(66, 45, 36)["gate"]], TILES[3]).text


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_a_column_times_a_large_stride_is_counted_in_64_bits(tile):
    """For matrices of more than 2^31 elements, which no test can hold."""
    text = emit_with([LARGE["column by column"]], tile).kernels[0].text
    assert "static_cast<long long>(first_column) * 66" in text
    assert " first_column * " not in text
