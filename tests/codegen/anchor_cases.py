"""What the tests of the heavy kernels share: op samples, results with gaps, thread orders, NVRTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dlrmc.emulator import run_all_orders
from dlrmc.ir.types import DType
from dlrmc.runtime import nvrtc
from dlrmc.schedule.plan import BufferRef, Launch
from tests.codegen.kernel_cases import (
    Built,
    Case,
    assert_close,
    case_of_op,
    emit_cases,
    prepare,
)
from tests.ir.ops.test_samples import SAMPLES

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
# ptxas spills a few registers outside of the loops where it could have used more of them.
FEW_SPILLED_BYTES = 64


@dataclass(frozen=True)
class GappedCase(Case):
    """A case whose result is a window onto a larger buffer.

    Attributes:
        result_strides: of the result, in elements.
        result_offset: elements before the result in its buffer.
    """

    result_strides: tuple[int, ...] = ()
    result_offset: int = 0

    def launch(self) -> Launch:
        launch = super().launch()
        size_bytes = self.body.outputs[0].type.dtype.size_bytes
        result = BufferRef("arena", 0, self.result_offset * size_bytes)
        return replace(launch, results=(result,), result_strides=(self.result_strides,))


def cases_of_samples(ops: Sequence[str], impl: str) -> dict[str, Case]:
    """A case for every sample of these ops, half of them with operands behind slots, by label."""
    made: dict[str, Case] = {}
    for number, sample in enumerate(sample for sample in SAMPLES if sample.op in ops):
        options: dict[str, Any] = {"impl": impl, "indirect": number % 2 == 1, "tolerance": sample.tolerance}
        case = case_of_op(sample.op, sample.operands, sample.attributes, **options)
        if case.body.outputs[0].type.numel:
            made[f"{number}: {sample.label}"] = case
    return made


def check_all_orders(built: Built, index: int) -> None:
    """Run a case in every order of its threads: equal bits, the reference's values, no fault."""
    case, kernel = built.cases[index], built.source.kernels[index]
    launch, buffers, faults = prepare(case, kernel)
    run_all_orders(built.module, [launch], buffers, seeds=(1,))
    assert faults["count"][0] == 0
    results = buffers[len(case.body.inputs) :]
    for got, wanted in zip(results, case.wanted(), strict=False):
        assert_close(got, wanted, case.tolerance)


def check_gapped(built: Built, index: int, buffer_elements: int) -> None:
    """Run a GappedCase: the result in its places, every other element of the buffer untouched."""
    case, kernel = built.cases[index], built.source.kernels[index]
    assert isinstance(case, GappedCase)
    launch, buffers, _ = prepare(case, kernel)
    output, place = case.body.outputs[0], len(case.body.inputs)
    filled = np.full(buffer_elements, 7, output.type.dtype.numpy)
    buffers[place] = filled
    arguments = list(launch.arguments)
    size_bytes = output.type.dtype.size_bytes
    arguments[place] = replace(arguments[place], offset_bytes=case.result_offset * size_bytes)
    run_all_orders(built.module, [replace(launch, arguments=tuple(arguments))], buffers, seeds=(1,))
    window = np.lib.stride_tricks.as_strided(
        buffers[place][case.result_offset :], output.shape, [s * size_bytes for s in case.result_strides]
    )
    assert_close(window.copy(), case.wanted()[0], case.tolerance)
    window[...] = 7
    np.testing.assert_array_equal(buffers[place], np.full_like(filled, 7))


def assert_builds(cases: Sequence[Case], architecture: str) -> None:
    """NVRTC compiles every kernel, none of which spills more than a few registers."""
    source = emit_cases(cases)
    cubin = nvrtc.compile_source(source.text, architecture)
    assert {kernel.name for kernel in cubin.kernels} == {kernel.name for kernel in source.kernels}
    assert not [kernel for kernel in cubin.kernels if kernel.spill_store_bytes > FEW_SPILLED_BYTES]


def random_array(rng: np.random.Generator, dtype: DType, *shape: int) -> np.ndarray[Any, Any]:
    """Normal values."""
    return rng.standard_normal(shape).astype(dtype.numpy)


def product_tolerance(dtype: DType, depth: int) -> float | None:
    """What a float32 sum of `depth` products of normal values may be off by, relative to its size."""
    return 1e-6 * depth**0.5 + 2e-6 if dtype is DType.F32 else None
