"""Linear stages of row programs on tensor cores: accuracy, lower precisions, values that are not finite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlrmc.codegen.emit import emit_module
from dlrmc.emulator.module import EmulatedModule
from dlrmc.ir.graph import Graph
from dlrmc.schedule.limits import DeviceLimits
from dlrmc.schedule.plan import Launch
from tests.codegen.kernel_cases import Built, Case, body_of, plan_of, run_case

ROWS, WIDTH, COLUMNS = 16, 544, 64


class _Program(Case):
    """A row program whose second operand is a weight."""

    def launch(self) -> Launch:
        launch, (x, w) = super().launch(), self.body.inputs
        outer = Graph("outer")
        operands = (outer.input(x.name, x.type), outer.weight(w.name, w.type, "w"))
        attributes = {"impl": self.impl, **self.attributes}
        return replace(launch, kernel=outer.add("kernel", (operands,), attributes, body=self.body))


def _program(x, w) -> Case:
    """-x @ w.T, so that the stage reads what another stage computed."""
    columns, width = w.shape

    def build(g, x, w):
        return g.add("linear", ((g.add("neg", (x,)),), w, None))

    body = body_of(build, f"f32[{len(x)},{width}]", f"f32[{columns},{width}]")
    attributes = {"batch": len(x), "rows": ROWS, "threads": 256}
    return _Program(body, {"a": x, "b": w}, "row_program", attributes=attributes)


def _run(case, cache_dir, precision="fp32"):
    source = emit_module(plan_of([case]), DeviceLimits(), precision=precision)
    assert "LinearTensor<" in source.text
    kernels = [(kernel.name, len(kernel.params)) for kernel in source.kernels]
    module = EmulatedModule.build(source.text, kernels, cache_dir=cache_dir)
    return run_case(Built((case,), source, module), 0).results[0]


def _values(seed=3):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((ROWS, WIDTH)).astype(np.float32)
    return x, rng.standard_normal((COLUMNS, WIDTH)).astype(np.float32)


@pytest.mark.parametrize("is_positive", [False, True])
def test_the_error_is_at_most_twice_that_of_float32(own_cache, is_positive):
    x, w = _values()
    if is_positive:
        x, w = -np.abs(x), np.abs(w)
    exact = -x.astype(np.float64) @ w.astype(np.float64).T
    products = -x[:, None, :] * w[None, :, :]
    in_order = np.add.accumulate(products, axis=-1, dtype=np.float32)[..., -1]
    result = _run(_program(x, w), own_cache)
    wanted = 2 * np.abs(in_order - exact).max()
    assert np.abs(result - exact).max() <= wanted
    # Sums that only tensor cores add, which round towards zero, are three times as far off on average.
    assert np.sqrt(np.mean((result - exact) ** 2)) <= 1.5 * np.sqrt(np.mean((in_order - exact) ** 2))


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_lower_precisions_take_one_product(own_cache, precision):
    x, w = _values(5)
    exact = -x.astype(np.float64) @ w.astype(np.float64).T
    error = np.abs(_run(_program(x, w), own_cache, precision) - exact).max()
    # TF32 has 11 bits: nearer would mean three products.
    assert 1e-3 < error < 0.05


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_infinities_and_nans_are_as_in_float32(own_cache, precision):
    x, w = np.full((ROWS, WIDTH), -1, np.float32), np.ones((COLUMNS, WIDTH), np.float32)
    x[1, 40], x[2, 0] = -np.inf, np.nan
    # The bits of the NaN that a GPU makes: adding to them would make a zero.
    x[3, 99] = np.array([0x7FFFFFFF], np.uint32).view(np.float32)[0]
    x[4, 3], x[4, 300] = np.inf, -np.inf
    result = _run(_program(x, w), own_cache, precision)
    column = np.full(ROWS, WIDTH, np.float32)
    column[1:5] = [np.inf, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(result, np.repeat(column[:, None], COLUMNS, axis=1))
