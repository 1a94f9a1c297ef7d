"""Whole programs built by NVRTC for a GPU that need not be here, and what such a GPU would refuse of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from unittest import mock

from dlrmc.codegen.source import KernelSource, ModuleSource
from dlrmc.compile import lower
from dlrmc.frontend import ImportedProgram
from dlrmc.passes import driver
from dlrmc.passes.pass_types import Pass
from dlrmc.passes.pipeline import PIPELINE
from dlrmc.runtime import nvrtc
from dlrmc.runtime.cubin import KernelResources, read_resources
from dlrmc.runtime.targets import limits_by_name
from dlrmc.schedule.limits import DeviceLimits

# Source of the limits: CUDA C++ Programming Guide, "Compute Capabilities".
REGISTERS_PER_BLOCK: Final = 65536
REGISTERS_ALLOCATED_AT_ONCE: Final = 256
WARP_THREADS: Final = 32
LARGEST_GRID: Final = 2**31 - 1
# Of every GPU since Volta (CUDA 12.1 release notes); each argument is a pointer.
PARAMETER_BYTES: Final = 32764
POINTER_BYTES: Final = 8
# ptxas spills a few registers outside of the loops where it could have used more of them.
FEW_SPILLED_BYTES: Final = 64
# ptxas says as a mere info: `(C7510) Potential Performance Loss: wgmma.mma_async instructions are ...`.
# A variable that is not read (#177-D) is left by rules that write it before they know what is read.
_COMPLAINT = re.compile(r"^\S*:? ?warning\b(?! #177-D)|\(C\d{4}\)", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """What is wrong with one kernel, or with the whole source where `kernel` is empty."""

    kernel: str
    kind: str
    detail: str


def emitted(
    program: ImportedProgram, architecture: str, precision: str = "fp32", passes: tuple[Pass, ...] = PIPELINE
) -> ModuleSource:
    """The source of a program for a GPU that is named."""
    graph = program.graph.copy()
    driver.run(graph, passes)
    return lower(graph, program.counted, limits_by_name(architecture), precision)[1]


def built(source: str, architecture: str) -> tuple[tuple[KernelResources, ...], tuple[str, ...]]:
    """What the kernels of a source need, and the lines in which the compilers complain.

    Raises:
        CompileError: NVRTC refuses the source.
    """
    logs: list[str] = []

    def reading(data: bytes, log: str) -> tuple[KernelResources, ...]:
        logs.append(log)
        return read_resources(data, log)

    with mock.patch.object(nvrtc, "read_resources", reading):
        cubin = nvrtc.compile_source(source, architecture)
    return cubin.kernels, tuple(line for line in logs[0].splitlines() if _COMPLAINT.search(line))


def findings(module: ModuleSource, architecture: str) -> list[Finding]:
    """All that NVRTC, ptxas or a GPU of this architecture would have against a module.

    Raises:
        CompileError: NVRTC refuses the source.
    """
    if not module.kernels:
        return []
    resources, complaints = built(module.text, architecture)
    needs = {kernel.name: kernel for kernel in resources}
    found = [Finding("", "complaint", line) for line in complaints]
    for kernel in module.kernels:
        found += _over_limits(kernel, needs[kernel.name], limits_by_name(architecture))
    return found


def _over_limits(kernel: KernelSource, needs: KernelResources, limits: DeviceLimits) -> list[Finding]:
    numbers = {
        "shared bytes": (needs.shared_bytes + kernel.shared_bytes, limits.shared_bytes_per_block),
        "threads": (kernel.block, limits.threads_per_block),
        "registers": (block_registers(kernel.block, needs.registers), REGISTERS_PER_BLOCK),
        "blocks": (kernel.grid, LARGEST_GRID),
        "parameter bytes": (POINTER_BYTES * len(kernel.params), PARAMETER_BYTES),
        "spilled bytes": (needs.spill_store_bytes, FEW_SPILLED_BYTES),
        "stack bytes": (needs.stack_bytes, max(needs.spill_store_bytes, FEW_SPILLED_BYTES)),
    }
    found = [
        Finding(kernel.name, kind, f"{value}, at most {most}")
        for kind, (value, most) in numbers.items()
        if value > most
    ]
    if kernel.grid < 1 or kernel.block < 1:
        found.append(Finding(kernel.name, "empty launch", f"{kernel.grid} blocks of {kernel.block}"))
    return found


def block_registers(threads: int, registers: int) -> int:
    """Registers that a block takes: they are given to whole warps, 256 at once."""
    warps = -(-threads // WARP_THREADS)
    units = -(-registers * WARP_THREADS // REGISTERS_ALLOCATED_AT_ONCE)
    return warps * units * REGISTERS_ALLOCATED_AT_ONCE
