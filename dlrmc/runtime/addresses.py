"""Which pointer each kernel argument gets: one rule for the GPU and the emulator.

A direct argument is the address of a resident or of a place in the arena. An indirect one is the address of
a cell of the pointer table, which holds the address of an input or output of the present call. Where the
number of an input's elements comes with the call, it stands in the cell behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dlrmc.codegen.fault_record import FAULTS_DTYPE
from dlrmc.codegen.source import KernelSource, ModuleSource
from dlrmc.errors import CodegenError
from dlrmc.runtime.picking import picker
from dlrmc.schedule.plan import BufferRef, Launch, Plan

POINTER_BYTES = 8


@dataclass(frozen=True)
class Bases:
    """Start addresses of what stays in place between calls.

    `faults` are the records of the kernels that check, one behind the other; 0 where none does.
    """

    residents: tuple[int, ...]
    arena: int
    table: int
    faults: int


@dataclass(frozen=True)
class BoundLaunch:
    """One kernel with the pointers of all its arguments."""

    kernel: KernelSource
    pointers: tuple[int, ...]


class AddressMap:
    """The cells of the pointer table and the arguments of every launch.

    Args:
        plan: what runs on which buffers.
        module: one emitted kernel for each launch, in the same order.

    Raises:
        CodegenError: the two do not fit each other.
    """

    def __init__(self, plan: Plan, module: ModuleSource) -> None:
        if len(plan.launches) != len(module.kernels):
            raise CodegenError(
                "emitted module",
                found=f"{len(module.kernels)} kernels",
                expected=f"one for each of the {len(plan.launches)} launches of the plan",
            )
        self._launches = tuple(zip(plan.launches, module.kernels, strict=True))
        self._arguments = tuple(_arguments(launch, kernel) for launch, kernel in self._launches)
        self.cells = self._collect_cells()
        self._cell_numbers = {ref: number for number, ref in enumerate(self.cells)}
        places = [_place(ref, plan) for ref in self.cells]
        offsets = [ref.offset_bytes for ref in self.cells]
        # Whole buffers are the rule, and picked without a loop.
        self._offset_cells = list(zip(places, offsets, strict=True)) if any(offsets) else []
        self._pick = picker(places)

    @property
    def checking_grids(self) -> tuple[int, ...]:
        """The number of blocks of each kernel that records faults, in order of launch."""
        return tuple(kernel.grid for _, kernel in self._launches if kernel.sites)

    def cell_pointers(
        self, inputs: Sequence[int], outputs: Sequence[int], counts: Sequence[int] = ()
    ) -> Sequence[int]:
        """The content of the table for a call.

        Args:
            inputs: addresses of all inputs.
            outputs: likewise.
            counts: the numbers of elements of the plan's counted inputs.
        """
        bases = (*inputs, *outputs, *counts)
        if self._offset_cells:
            return [bases[place] + offset for place, offset in self._offset_cells]
        return self._pick(bases)

    def bind(self, bases: Bases) -> tuple[BoundLaunch, ...]:
        """All launches in order with their pointers."""
        bound: list[BoundLaunch] = []
        faults = bases.faults
        for (_, kernel), arguments in zip(self._launches, self._arguments, strict=True):
            own = replace(bases, faults=faults)
            bound.append(BoundLaunch(kernel, tuple(self._pointer(ref, own) for ref in arguments)))
            faults += FAULTS_DTYPE.itemsize if kernel.sites else 0
        return tuple(bound)

    def _collect_cells(self) -> tuple[BufferRef, ...]:
        refs = [ref for refs in self._arguments for ref in refs if ref and ref.kind in ("input", "output")]
        distinct = dict.fromkeys(refs)
        counts = {ref: (BufferRef("count", ref.index),) if ref.has_count else () for ref in distinct}
        return tuple(cell for ref in distinct for cell in (ref, *counts[ref]))

    def _pointer(self, ref: BufferRef | None, bases: Bases) -> int:
        if ref is None:
            return bases.faults
        if ref.kind == "arena":
            return bases.arena + ref.offset_bytes
        if ref.kind == "resident":
            return bases.residents[ref.index] + ref.offset_bytes
        return bases.table + POINTER_BYTES * self._cell_numbers[ref]


def _place(ref: BufferRef, plan: Plan) -> int:
    """Where a cell's content stands among the addresses of inputs, those of outputs, and the counts."""
    if ref.kind == "input":
        return ref.index
    if ref.kind == "output":
        return len(plan.inputs) + ref.index
    return len(plan.inputs) + len(plan.outputs) + plan.counted.index(ref.index)


def _arguments(launch: Launch, kernel: KernelSource) -> tuple[BufferRef | None, ...]:
    """The buffers of a kernel's parameters; None is the fault record, which comes last."""
    refs: list[BufferRef | None] = [*launch.operands, *launch.results]
    if kernel.sites:
        refs.append(None)
    if len(refs) != len(kernel.params):
        raise CodegenError(
            f"kernel {kernel.name}",
            found=f"{len(kernel.params)} parameters: {', '.join(p.name for p in kernel.params)}",
            expected=f"{len(refs)}: operands, results, and the faults where it checks any",
        )
    for ref, parameter in zip(refs, kernel.params, strict=True):
        reached_by_cell = ref is not None and ref.kind in ("input", "output")
        if parameter.indirect != reached_by_cell:
            raise CodegenError(
                f"kernel {kernel.name}, parameter {parameter.name}",
                found=f"indirect={parameter.indirect} for {ref.kind if ref else 'faults'}",
                expected="inputs and outputs of the call indirect, everything else direct",
            )
    return tuple(refs)
