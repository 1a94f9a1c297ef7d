"""Every kernel of every golden program in the emulator: reference, eager, AddressSanitizer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import _pytree as pytree

from dlrmc.emulator.launch import run_launches
from dlrmc.emulator.module import EmulatedModule
from dlrmc.emulator.orders import run_all_orders
from dlrmc.emulator.sanitize import SanitizedWorker
from dlrmc.errors import BoundsError
from dlrmc.frontend.program import TensorInput, ValueOutput
from dlrmc.ir.op import Array
from dlrmc.ir.reference import evaluate
from dlrmc.ir.types import DType
from dlrmc.passes import driver
from dlrmc.passes.pipeline import PIPELINE, UNFUSED_PIPELINE
from dlrmc.runtime.tensors import to_numpy
from tests.golden import programs
from tests.golden.plan_runner import Emitted, run_plan

PIPELINES = {"fused": PIPELINE, "unfused": UNFUSED_PIPELINE}
EACH = [(name, pipeline) for name in programs.PROGRAMS for pipeline in PIPELINES]
# Relative to the larger of 1 and the value: a few units in the last place of each dtype.
TOLERANCES = {DType.F32: 2e-6, DType.BF16: 8e-3}


@cache
def emitted(name: str, pipeline: str) -> Emitted:
    graph = programs.imported(name).graph.copy()
    driver.run(graph, PIPELINES[pipeline])
    return Emitted.of(graph)


@cache
def weights(name: str) -> dict[str, Array]:
    return {target: to_numpy(tensor) for target, tensor in programs.imported(name).weights.items()}


def built(name: str, pipeline: str, cache_dir: Path, *, sanitize: bool) -> EmulatedModule:
    each = emitted(name, pipeline)
    return EmulatedModule.build(each.module.text, each.entry_points, cache_dir=cache_dir, sanitize=sanitize)


def inputs_of(name: str, request: programs.Request) -> dict[str, Array]:
    """The arrays of a request by the names of the graph's inputs."""
    program = programs.imported(name)
    leaves = pytree.tree_leaves((request, {}))
    named: dict[str, Array] = {}
    for leaf, entry in zip(leaves, program.inputs, strict=True):
        assert isinstance(entry, TensorInput)
        named[program.graph.inputs[entry.index].name] = to_numpy(leaf)
    return named


def eager(name: str, request: programs.Request) -> list[Array]:
    """What the model gives, in the order of the graph's outputs."""
    with torch.no_grad():
        leaves = pytree.tree_leaves(programs.model(name)(*request))
    by_index = {
        entry.index: to_numpy(leaf)
        for leaf, entry in zip(leaves, programs.imported(name).outputs, strict=True)
        if isinstance(entry, ValueOutput)
    }
    return [by_index[index] for index in range(len(by_index))]


def assert_close(place: str, found: Array, wanted: Array) -> None:
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), place
    limit = TOLERANCES[DType.of_numpy(wanted.dtype)]
    wide, wide_wanted = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(wide, wide_wanted, rtol=limit, atol=limit, err_msg=place)


@pytest.mark.parametrize(("name", "pipeline"), EACH)
def test_the_kernels_give_what_the_reference_and_eager_give(name: str, pipeline: str, own_cache: Path):
    module = built(name, pipeline, own_cache, sanitize=False)
    for label, request in programs.requests(name).items():
        inputs = inputs_of(name, request)
        ran = run_plan(
            emitted(name, pipeline),
            inputs,
            weights(name),
            lambda launch, buffers: run_launches(module, [launch], buffers),
            assert_close,
        )
        assert ran.faults == 0
        wanted = evaluate(programs.imported(name).graph, inputs, weights(name))
        for found, reference, exact in zip(ran.outputs, wanted, eager(name, request), strict=True):
            assert_close(label, found, reference)
            difference = np.abs(found.astype(np.float64) - exact.astype(np.float64))
            assert difference.max() <= programs.PROGRAMS[name].tolerance, label


@pytest.mark.parametrize(("name", "pipeline"), [("plain", "fused"), ("plain", "unfused"), ("bf16", "fused")])
def test_the_order_of_threads_does_not_matter(name: str, pipeline: str, own_cache: Path):
    module = built(name, pipeline, own_cache, sanitize=False)
    inputs = inputs_of(name, programs.PROGRAMS[name].request(3))
    run_plan(
        emitted(name, pipeline),
        inputs,
        weights(name),
        lambda launch, buffers: run_all_orders(module, [launch], buffers, seeds=(1,)),
        assert_close,
    )


@pytest.fixture(scope="module")
def worker() -> Iterator[SanitizedWorker]:
    with SanitizedWorker() as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pipeline"), EACH)
def test_no_kernel_leaves_its_buffers(name: str, pipeline: str, own_cache: Path, worker: SanitizedWorker):
    module = built(name, pipeline, own_cache, sanitize=True)
    for label, request in programs.requests(name).items():
        run_plan(
            emitted(name, pipeline),
            inputs_of(name, request),
            weights(name),
            lambda launch, buffers: worker.run(module, [launch], buffers),
            lambda place, found, wanted, label=label: assert_close(f"{label}: {place}", found, wanted),
        )


def broken_requests() -> dict[str, Any]:
    """Requests of `plain` with ids or offsets that are out of range in each way."""
    dense, offsets, ids = programs.PROGRAMS["plain"].request(1)
    count, rows = len(ids[0]), programs.CONFIG.rows

    def with_first(tensors: list[torch.Tensor], values: list[int]) -> list[torch.Tensor]:
        changed = tensors[0].clone()
        changed[: len(values)] = torch.tensor(values)
        return [changed, *tensors[1:]]

    return {
        "an id too large": (dense, offsets, with_first(ids, [rows, rows + 1])),
        "a negative id": (dense, offsets, with_first(ids, [-1])),
        "an id that overflows": (dense, offsets, with_first(ids, [2**62])),
        "decreasing offsets": (dense, with_first(offsets, [0, 9, 3, 1]), ids),
        "offsets behind the ids": (dense, with_first(offsets, [0, count + 5]), ids),
        "negative offsets": (dense, with_first(offsets, [0, -7]), ids),
        "offsets that do not begin at 0": (dense, with_first(offsets, [1]), ids),
    }


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("label", broken_requests())
def test_a_bad_request_is_recorded_and_stays_in_its_buffers(
    label: str, pipeline: str, own_cache: Path, worker: SanitizedWorker
):
    module = built("plain", pipeline, own_cache, sanitize=True)
    inputs = inputs_of("plain", broken_requests()[label])
    with pytest.raises(BoundsError):
        evaluate(programs.imported("plain").graph, inputs, weights("plain"))
    ran = run_plan(
        emitted("plain", pipeline),
        inputs,
        weights("plain"),
        lambda launch, buffers: worker.run(module, [launch], buffers),
    )
    assert ran.faults > 0


def test_one_form_of_export_is_enough_here():
    """The other forms end in the same text, as the golden files say, and so in the same kernels."""
    for form in ("canon", "core"):
        graph = programs.imported("plain", form).graph.copy()
        driver.run(graph, PIPELINE)
        assert Emitted.of(graph).module.text == emitted("plain", "fused").module.text
