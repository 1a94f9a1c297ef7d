"""Kernels of small bodies, emitted into one module, run in the emulator, compared with the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dlrmc.codegen.emit import emit_module
from dlrmc.codegen.fault_record import FAULTS_DTYPE
from dlrmc.codegen.source import KernelSource, ModuleSource
from dlrmc.emulator.launch import Argument, KernelLaunch, run_launches
from dlrmc.emulator.module import EmulatedModule
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Array, Operands, map_operands
from dlrmc.ir.reference import evaluate
from dlrmc.ir.strided import packed_strides
from dlrmc.ir.types import DType, TensorType
from dlrmc.schedule.limits import DeviceLimits
from dlrmc.schedule.plan import BufferRef, Launch, Plan

# Relative to the larger of 1 and the value: a few units in the last place of each dtype.
TOLERANCES = {DType.F64: 1e-12, DType.F32: 2e-6, DType.F16: 1e-3, DType.BF16: 8e-3}


@dataclass(frozen=True)
class Case:
    """One kernel body with arrays for its inputs.

    Attributes:
        body: the kernel's body.
        arrays: by the body's input names.
        indirect: whether operands and results are reached through slots.
        tolerance: in place of that of the dtype.
        attributes: of the kernel node, besides impl.
    """

    body: Graph
    arrays: Mapping[str, Array]
    impl: str = "map"
    indirect: bool = False
    tolerance: float | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def launch(self) -> Launch:
        outer = Graph("outer")
        operands = tuple(outer.input(node.name, node.type) for node in self.body.inputs)
        kernel = outer.add("kernel", (operands,), {"impl": self.impl, **self.attributes}, body=self.body)
        return Launch(
            kernel,
            tuple(BufferRef("input" if self.indirect else "resident", i) for i in range(len(operands))),
            tuple(
                BufferRef("output" if self.indirect else "arena", i) for i in range(len(self.body.outputs))
            ),
            tuple(packed_strides(node.shape) for node in self.body.inputs),
            tuple(packed_strides(node.shape) for node in self.body.outputs),
        )

    def wanted(self) -> tuple[Array, ...]:
        return evaluate(self.body, self.arrays, {})


def body_of(
    build: Callable[..., Node | Sequence[Node]], *types: str | TensorType, names: Sequence[str] = ()
) -> Graph:
    """The body that `build(graph, *inputs)` makes; inputs are named a, b, c, ... unless named."""
    from dlrmc.ir.types import parse_tensor_type

    graph = Graph("body")
    inputs = [
        graph.input((names or "abcdefgh")[i], parse_tensor_type(t) if isinstance(t, str) else t)
        for i, t in enumerate(types)
    ]
    made = build(graph, *inputs)
    graph.set_outputs([made] if isinstance(made, Node) else made)
    return graph


def case_of_op(op: str, operands: Operands[Array], attributes: Mapping[str, Any], **options: Any) -> Case:
    """The case of one op on arrays."""
    graph = Graph("body")
    arrays: dict[str, Array] = {}

    def enter(array: Array) -> Node:
        node = graph.input(f"x{len(arrays)}", TensorType(DType.of_numpy(array.dtype), array.shape))
        arrays[node.name] = array
        return node

    entered = map_operands(operands, enter)
    graph.set_outputs([graph.add(op, entered, attributes)])
    return Case(graph, arrays, **options)


def plan_of(cases: Sequence[Case]) -> Plan:
    """A plan whose launches are the cases'; its buffers are not those of a real plan."""
    return Plan(
        launches=tuple(case.launch() for case in cases), residents=(), inputs=(), outputs=(), arena_bytes=0
    )


@dataclass(frozen=True)
class Built:
    """Cases, the module that holds their kernels, and its emulated form."""

    cases: tuple[Case, ...]
    source: ModuleSource
    module: EmulatedModule


def emit_cases(cases: Sequence[Case]) -> ModuleSource:
    return emit_module(plan_of(cases), DeviceLimits())


def build_cases(cases: Sequence[Case], cache_dir: Path, *, sanitize: bool = False) -> Built:
    source = emit_cases(cases)
    kernels = [(kernel.name, len(kernel.params)) for kernel in source.kernels]
    module = EmulatedModule.build(source.text, kernels, cache_dir=cache_dir, sanitize=sanitize)
    return Built(tuple(cases), source, module)


@dataclass(frozen=True)
class Ran:
    """What a kernel left: its results and the fault record."""

    results: tuple[Array, ...]
    faults: Any


def prepare(case: Case, kernel: KernelSource) -> tuple[KernelLaunch, list[Array], Array]:
    """The launch of a case, its buffers (operands, results, faults) and the fault record."""
    buffers = [np.array(case.arrays[node.name], order="C", copy=True) for node in case.body.inputs]
    for node in case.body.outputs:
        raw = np.full(node.type.size_bytes, 0xFF, np.uint8)
        buffers.append(raw.view(node.type.dtype.numpy).reshape(node.shape))
    faults = np.zeros(1, FAULTS_DTYPE)
    if kernel.sites:
        buffers.append(faults)
    arguments = tuple(Argument(i, 0, param.indirect) for i, param in enumerate(kernel.params))
    assert len(arguments) == len(buffers)
    launch = KernelLaunch(kernel.name, kernel.grid, kernel.block, kernel.shared_bytes, arguments)
    return launch, buffers, faults


def run_case(built: Built, index: int, *, order: str = "forward") -> Ran:
    case, kernel = built.cases[index], built.source.kernels[index]
    launch, buffers, faults = prepare(case, kernel)
    run_launches(built.module, [launch], buffers, order=order)
    # Each block of a kernel that checks ends once: by that the host knows which call a fault belongs to.
    assert faults["ended_blocks"][0] == (kernel.grid if kernel.sites else 0)
    assert faults["blocks_before"][0] < kernel.grid
    count = len(case.body.inputs)
    return Ran(tuple(buffers[count : count + len(case.body.outputs)]), faults[0])


def assert_close(got: Array, wanted: Array, tolerance: float | None = None, place: str = "") -> None:
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), place
    dtype = DType.of_numpy(wanted.dtype)
    if not dtype.is_float:
        np.testing.assert_array_equal(got, wanted, err_msg=place)
        return
    limit = TOLERANCES[dtype] if tolerance is None else max(tolerance, TOLERANCES[dtype])
    np.testing.assert_allclose(
        got.astype(np.float64), wanted.astype(np.float64), rtol=limit, atol=limit, err_msg=place
    )


def check_case(built: Built, index: int, *, order: str = "forward", place: str = "") -> None:
    """Run a case and compare every result with the reference; no fault may be recorded."""
    case, ran = built.cases[index], run_case(built, index, order=order)
    assert ran.faults["count"] == 0, place
    for got, wanted in zip(ran.results, case.wanted(), strict=True):
        assert_close(got, wanted, case.tolerance, place)
