"""What codegen hands on: kernels as CUDA text, and everything a launch of them needs."""

from __future__ import annotations

from dataclasses import dataclass

from dlrmc.codegen.index_expressions import constant, ravel, unravel
from dlrmc.codegen.view_indices import through_views
from dlrmc.ir.graph import Node
from dlrmc.schedule.limits import DeviceLimits


@dataclass(frozen=True, slots=True)
class Param:
    """One argument of a kernel: always a 64-bit pointer.

    Where `indirect` holds, the argument is the address of an 8-byte slot in device memory that holds the
    pointer, so that a captured graph can be pointed at other inputs and outputs.
    """

    name: str
    indirect: bool = False


@dataclass(frozen=True, slots=True)
class FaultSite:
    """One place in a kernel that checks a user's index, named for the error it reports.

    Args:
        kernel: the kernel's name.
        operand: the name of the value that holds the ids or the offsets.
        kind: "id", "offset" or "index".
        first: the position in that value of the first element that the kernel reads.
        shown: the view of that value over whose elements a record counts; None for the value itself.
    """

    kernel: str
    operand: str
    kind: str
    first: int = 0
    shown: Node | None = None

    def position(self, recorded: int) -> int:
        """Where in `operand` the element of a record stands, counted over its elements."""
        if self.shown is None:
            return self.first + recorded
        root, indices = through_views(self.shown, unravel(constant(recorded), self.shown.shape))
        return self.first + ravel(indices, root.shape).constant


@dataclass(frozen=True, slots=True)
class KernelContext:
    """What an implementation must know of the kernel it emits, beyond the body.

    Args:
        name: the kernel's name in the source.
        operand_strides: for each operand of the kernel, its strides in elements.
        result_strides: for each result, likewise.
        indirect_operands: for each operand, whether it is reached through a slot.
        indirect_results: for each result, likewise.
        operand_names: the user's names of the operands, for fault sites.
        first_site: the number of the kernel's first fault site.
        limits: the device's limits.
        operand_alignments: for each operand, bytes of which its address is known to be a multiple; empty
            where only the element's own alignment is known.
        result_alignments: for each result, likewise.
        precision: of products on tensor cores, the option of that name: "fp32", "tf32" or "bf16".
        counted_operands: for each operand, whether its number of elements stands behind the pointer in the
            slot; empty where none does.
        is_chained: whether other kernels run before or behind it in a request.
        operand_firsts: for each operand, the position of its first element in the user's value, for fault
            sites; empty where all begin with it.
        tf32_operands: for each operand, whether it holds TF32 numbers only; empty where that is not known.
    """

    name: str
    operand_strides: tuple[tuple[int, ...], ...]
    result_strides: tuple[tuple[int, ...], ...]
    indirect_operands: tuple[bool, ...]
    indirect_results: tuple[bool, ...]
    operand_names: tuple[str, ...]
    first_site: int
    limits: DeviceLimits
    operand_alignments: tuple[int, ...] = ()
    result_alignments: tuple[int, ...] = ()
    precision: str = "fp32"
    counted_operands: tuple[bool, ...] = ()
    is_chained: bool = False
    operand_firsts: tuple[int, ...] = ()
    tf32_operands: tuple[bool, ...] = ()

    def count(self, place: int, pointer: str) -> str:
        """The C expression of the number of elements of an operand; empty where the type says it."""
        is_counted = bool(self.counted_operands) and self.counted_operands[place]
        return f"read_count({pointer}_slot)" if is_counted else ""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One emitted kernel.

    Args:
        name: the entry point.
        text: the kernel's own code, without the files it includes.
        includes: names of files in codegen/cuda whose text must stand before it.
        grid: number of blocks (1-D).
        block: threads a block (1-D).
        shared_bytes: dynamic shared memory a block.
        params: operands in order, then results, then "faults" where sites is not empty.
        sites: the fault sites, numbered from KernelContext.first_site.
        tensor_products: by what its tensor-core products are made, as "three TF32 products"; empty where it
            has none.
        is_chained: whether it waits itself for the kernel before it (kernel_chain.cuh).
        tf32_factors: the places of operands that it reads as factors of TF32 products only, and would have
            to round where they hold other numbers.
    """

    name: str
    text: str
    includes: tuple[str, ...]
    grid: int
    block: int
    shared_bytes: int
    params: tuple[Param, ...]
    sites: tuple[FaultSite, ...] = ()
    tensor_products: str = ""
    is_chained: bool = False
    tf32_factors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """One self-contained translation unit and the kernels in it."""

    text: str
    kernels: tuple[KernelSource, ...]
