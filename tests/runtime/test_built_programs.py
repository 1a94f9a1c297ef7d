"""Whole programs for GPUs that are not here: NVRTC and ptxas accept them, and they keep every limit."""

from __future__ import annotations

import dataclasses
import functools

import pytest
import torch
from torch import nn

from dlrmc.bench.presets import PRESETS
from dlrmc.bench.workload import build_model, random_inputs
from dlrmc.codegen.source import KernelSource, ModuleSource, Param
from dlrmc.frontend import ImportedProgram, import_program
from tests.runtime.built_programs import block_registers, emitted, findings
from tests.zoo.catalogue import select
from tests.zoo.examine import quiet
from tests.zoo.model import REAL

# A row program that takes nearly all shared memory, large products in each precision, attention over a
# history, many bags, tables of nibbles: at real sizes, where tiles and pipelines are as large as they become.
BUILDS = (
    ("seed", 2048, "sm_90a", "fp32"),
    ("seed", 2048, "sm_80", "fp32"),
    ("seed", 64, "sm_120", "tf32"),
    ("kaggle", 2048, "sm_90a", "tf32"),
    ("kaggle", 2048, "sm_90a", "bf16"),
    ("kaggle", 2048, "sm_80", "tf32"),
    ("paper/TargetAttention", 512, "sm_90a", "fp32"),
    ("paper/TargetAttention", 512, "sm_86", "tf32"),
    ("paper/HashedBags", 4096, "sm_90a", "bf16"),
    ("plain/nibbles", 512, "sm_100", "fp32"),
)


@functools.cache
def imported(name: str, batch: int) -> ImportedProgram:
    """A model of the benchmarks or of the zoo; the number of rows of a benchmark's tables changes no code."""
    if name in PRESETS:
        cell = dataclasses.replace(PRESETS[name], batch=batch, rows=1000)
        model: nn.Module = build_model(cell, torch.device("cpu"))
        return import_program(torch.export.export(model, random_inputs(cell)))
    [entry] = [model for model in select([name]) if model.label == name]
    with quiet():
        example = entry.example(batch, REAL)
        return import_program(torch.export.export(example.model, example.args, dict(example.kwargs)))


@pytest.mark.parametrize(
    ("name", "batch", "architecture", "precision"),
    BUILDS,
    ids=[" ".join(map(str, build)) for build in BUILDS],
)
def test_a_gpu_would_take_it(name: str, batch: int, architecture: str, precision: str) -> None:
    module = emitted(imported(name, batch), architecture, precision)
    assert module.kernels
    assert findings(module, architecture) == []


def _module(text: str, grid: int = 1, block: int = 64, shared_bytes: int = 0) -> ModuleSource:
    return ModuleSource(text, (KernelSource("f", text, (), grid, block, shared_bytes, (Param("x"),)),))


GOOD = 'extern "C" __global__ void __launch_bounds__(64) f(float* x) { const int unread = 1; x[0] = 1.0f; }\n'
# Two places that only the data say: an array of registers cannot do that.
SCATTERED = (
    "float y[64] = {}; for (int i = 0; i < 64; ++i) y[int(x[i]) & 63] += x[64 + i]; x[0] = y[int(x[3]) & 63];"
)


@pytest.mark.parametrize(
    ("module", "kinds"),
    [
        (_module(GOOD), []),
        (_module(GOOD, shared_bytes=(99 << 10) + 1), ["shared bytes"]),
        (_module(GOOD, block=1056), ["threads"]),
        (_module(GOOD, grid=2**31), ["blocks"]),
        (_module(GOOD, grid=0), ["empty launch"]),
        (_module("#warning 20 tables\n" + GOOD), ["complaint"]),
        (_module(GOOD.replace("x[0] = 1.0f;", SCATTERED)), ["stack bytes"]),
    ],
    ids=["good", "shared", "threads", "blocks", "empty", "warning", "stack"],
)
def test_what_a_gpu_would_not_take_is_found(module: ModuleSource, kinds: list[str]) -> None:
    assert [finding.kind for finding in findings(module, "sm_86")] == kinds


def test_registers_are_given_to_whole_warps() -> None:
    # CUDA Occupancy Calculator: 33 registers a thread take 40, and 65 threads three warps.
    assert block_registers(64, 32) == 64 * 32
    assert block_registers(65, 33) == 96 * 40
