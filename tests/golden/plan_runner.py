"""Runs the kernels of a plan in the emulator, each on buffers of exactly its size, against the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dlrmc.codegen.emit import emit_module
from dlrmc.codegen.fault_record import FAULTS_DTYPE
from dlrmc.codegen.source import KernelSource, ModuleSource
from dlrmc.emulator.launch import Argument, KernelLaunch
from dlrmc.ir.graph import Graph
from dlrmc.ir.op import Array
from dlrmc.ir.reference import evaluate_all
from dlrmc.ir.types import TensorType
from dlrmc.schedule.buffers import result_types
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.limits import DeviceLimits
from dlrmc.schedule.plan import BufferRef, Launch, Plan

# Runs one launch on arrays of bytes, in place.
Runner = Callable[[KernelLaunch, Sequence[Array]], None]
_BASE_ALIGNMENT_BYTES = 256


@dataclass(frozen=True)
class Emitted:
    """A graph of kernels with its plan and its source."""

    graph: Graph
    plan: Plan
    module: ModuleSource

    @classmethod
    def of(cls, graph: Graph) -> Emitted:
        plan = build_plan(graph)
        return cls(graph, plan, emit_module(plan, DeviceLimits(), graph))

    @property
    def entry_points(self) -> list[tuple[str, int]]:
        """What the emulator builds: names and numbers of arguments."""
        return [(kernel.name, len(kernel.params)) for kernel in self.module.kernels]


@dataclass(frozen=True)
class Ran:
    """What a request left: the outputs, and how many ids were out of range."""

    outputs: tuple[Array, ...]
    faults: int


def run_plan(
    emitted: Emitted,
    inputs: Mapping[str, Array],
    weights: Mapping[str, Array],
    runner: Runner,
    check: Callable[[str, Array, Array], None] | None = None,
) -> Ran:
    """Run all launches in order.

    Args:
        emitted: what runs.
        inputs: by name.
        weights: by target.
        runner: runs one launch.
        check: called with each kernel's name, what it wrote and what the reference says, where it has one
            result; None where the request is one that the reference refuses.
    """
    graph, plan = emitted.graph, emitted.plan
    # With a request that the reference refuses, only derived values are taken from it.
    known = evaluate_all(graph, inputs, weights) if check else evaluate_all(_residents(graph), {}, weights)
    memory = _Memory(plan, inputs, known)
    faults = np.zeros(1, FAULTS_DTYPE)
    for launch, kernel in zip(plan.launches, emitted.module.kernels, strict=True):
        _run_launch(launch, kernel, memory, faults, runner)
        if check and launch.kernel.name in known:
            found = memory.read(launch.results[0], launch.kernel.type, launch.result_strides[0])
            check(launch.kernel.name, found, known[launch.kernel.name])
    return Ran(tuple(memory.outputs(plan)), int(faults["count"][0]))


def _residents(graph: Graph) -> Graph:
    """The graph cut down to what is known at load."""
    twin = graph.copy()
    twin.set_outputs([])
    for node in reversed(twin.nodes):
        if not node.is_op("input", "weight", "const", "derive"):
            twin.erase(node)
    return twin


class _Memory:
    """Every buffer as bytes."""

    def __init__(self, plan: Plan, inputs: Mapping[str, Array], known: Mapping[str, Array]) -> None:
        self._bytes: dict[tuple[str, int], Array] = {("arena", 0): _filled(plan.arena_bytes)}
        for index, slot in enumerate(plan.inputs):
            self._bytes["input", index] = _bytes_of(inputs[slot.name])
        for index, node in enumerate(plan.residents):
            self._bytes["resident", index] = _bytes_of(known[node.name])
        for index, slot in enumerate(plan.outputs):
            self._bytes["output", index] = _filled(slot.type.size_bytes)

    def window(self, ref: BufferRef, kept: TensorType, strides: Sequence[int]) -> Array:
        """A view of exactly the bytes that the value spans."""
        last = sum((size - 1) * stride for size, stride in zip(kept.shape, strides, strict=True))
        span_bytes = (last + 1) * kept.dtype.size_bytes if kept.numel else 0
        return self._bytes[ref.kind, ref.index][ref.offset_bytes : ref.offset_bytes + span_bytes]

    def read(self, ref: BufferRef, kept: TensorType, strides: Sequence[int]) -> Array:
        window = self.window(ref, kept, strides)
        size = kept.dtype.size_bytes
        return as_strided(
            window.view(kept.dtype.numpy), kept.shape, [size * stride for stride in strides]
        ).copy()

    def outputs(self, plan: Plan) -> list[Array]:
        return [
            self._bytes["output", index].view(slot.type.dtype.numpy).reshape(slot.type.shape)
            for index, slot in enumerate(plan.outputs)
        ]


def _bytes_of(array: Array) -> Array:
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8).copy()


def _filled(size_bytes: int) -> Array:
    """Bytes that make NaNs, so that what no kernel has written is seen."""
    return np.full(size_bytes, 0xFF, np.uint8)


def _run_launch(launch: Launch, kernel: KernelSource, memory: _Memory, faults: Array, runner: Runner) -> None:
    refs = (*launch.operands, *launch.results)
    types = (*(operand.type for operand in launch.kernel.inputs), *result_types(launch.kernel))
    strides = (*launch.operand_strides, *launch.result_strides)
    windows = [memory.window(*each) for each in zip(refs, types, strides, strict=True)]
    # In front of a value stand as many bytes as its address is off the alignment of a buffer.
    pads = [ref.offset_bytes % _BASE_ALIGNMENT_BYTES for ref in refs]
    buffers = [
        np.concatenate([np.zeros(pad, np.uint8), window]) for pad, window in zip(pads, windows, strict=True)
    ]
    arguments = [
        Argument(number, pad, param.indirect)
        for number, (pad, param) in enumerate(zip(pads, kernel.params, strict=False))
    ]
    if kernel.sites:
        buffers.append(faults)
        arguments.append(Argument(len(arguments)))
    assert len(arguments) == len(kernel.params)
    runner(
        KernelLaunch(kernel.name, kernel.grid, kernel.block, kernel.shared_bytes, tuple(arguments)), buffers
    )
    for number in range(len(launch.operands), len(refs)):
        windows[number][:] = buffers[number][pads[number] :]
