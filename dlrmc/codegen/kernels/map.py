"""The `map` kernel: any region of elementwise ops, views, cat, lookups and reductions, one element a thread.

Where a reduction of 32 or more terms is the same for a whole row of the result (or for one element of it),
each warp computes a row: its lanes share the terms of the reduction, then the elements of the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dlrmc.codegen.code_blocks import INDENT, CodeBlocks
from dlrmc.codegen.constant_tables import ConstantTables
from dlrmc.codegen.expressions import ExpressionWriter, Indices, Rehearsal
from dlrmc.codegen.fault_record import END_OF_BLOCK
from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.index_expressions import Index, dot, render, unravel, variable
from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.lookup_expressions import LOOKUPS
from dlrmc.codegen.order_expressions import ORDERS
from dlrmc.codegen.reduction_expressions import REDUCTIONS, WARP_LANES
from dlrmc.codegen.scalar_types import loaded, stored
from dlrmc.codegen.signature import Signature, build_signature, ir_comment
from dlrmc.codegen.source import KernelContext, KernelSource
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Elementwise
from dlrmc.ir.strided import VIEW_OPS

DEFAULT_THREADS = 256
SHARED_REDUCTION_TERMS = 32
# Below this, an index and all on the way to it fit in 32 bits, also in the last, partial block.
LARGEST_NARROW = 2**31 - 1024

INCLUDES = ("scalars.cuh", "math.cuh", "faults.cuh", "reduce.cuh")
_OTHER_OPS = ("input", "const", "cat", *VIEW_OPS, *LOOKUPS, *REDUCTIONS, *ORDERS)


@dataclass(slots=True)
class _Emission:
    """What is put together while one kernel is written."""

    body: Graph
    context: KernelContext
    signature: Signature
    tables: ConstantTables
    faults: FaultSites
    blocks: CodeBlocks = field(default_factory=CodeBlocks)

    @classmethod
    def of(cls, body: Graph, context: KernelContext) -> _Emission:
        signature = build_signature(body, context, has_faults=False)
        return cls(body, context, signature, ConstantTables(context.name), FaultSites(body, context))

    def load(self, node: Node, indices: Indices) -> str | None:
        """The element of an operand, in global memory."""
        if not node.is_op("input"):
            return None
        operand = self.body.inputs.index(node)
        position = render(dot(indices, self.context.operand_strides[operand]))
        return loaded(f"{self.signature.operand_names[operand]}[{position}]", node.type.dtype)

    def store_all(self, writer: ExpressionWriter, at: Callable[[Node], Indices]) -> None:
        """Compute and store one element of every result."""
        for place, node in enumerate(self.body.outputs):
            indices = at(node)
            value = writer.value(node, indices)
            position = render(dot(indices, self.context.result_strides[place]))
            pointer = self.signature.result_names[place]
            writer.blocks.write(f"{pointer}[{position}] = {stored(value, node.type.dtype)};")


@dataclass(frozen=True, slots=True)
class _Rows:
    """The result split into rows, one for each warp: all but `axis`, or single elements where it is None."""

    shape: tuple[int, ...]
    axis: int | None

    @property
    def length(self) -> int:
        """Elements of a row."""
        return 1 if self.axis is None else self.shape[self.axis]

    @property
    def count(self) -> int:
        """Number of rows."""
        return math.prod(self.shape) // self.length

    def indices(self, node: Node, row: Index, element: Index) -> Indices:
        """The index into a result of an element of a row."""
        if self.axis is None:
            return unravel(row, node.shape)
        outer = unravel(row, (*self.shape[: self.axis], *self.shape[self.axis + 1 :]))
        return (*outer[: self.axis], element, *outer[self.axis :])


class Map(KernelImpl):
    """Body: elementwise ops, views, cat, lookups, reductions; results of equal numbers of elements."""

    name = "map"

    def check(self, body: Graph) -> None:
        for node in body.nodes:
            if not isinstance(node.op, Elementwise) and not node.is_op(*_OTHER_OPS):
                raise self.refuse(
                    f"%{node.name}", f"op {node.op.name}", "an elementwise op, view or reduction"
                )
        counts = [node.type.numel for node in body.outputs]
        if not counts or min(counts) != max(counts):
            raise self.refuse("results", f"{counts} elements", "results of equal numbers of elements")
        if not counts[0]:
            raise self.refuse("results", "no elements", "elements: the plan leaves out empty kernels")

    def emit(self, kernel: Node, context: KernelContext) -> KernelSource:
        self.check(kernel.body)
        rows = _find_rows(kernel.body, context)
        emission = _Emission.of(kernel.body, context)
        threads = kernel.attributes.int("threads") or DEFAULT_THREADS
        threads = min(threads, context.limits.threads_per_block)
        frame = _emit_elements(emission, threads) if rows is None else _emit_rows(emission, rows, threads)
        return _assemble(kernel, emission, frame)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What stands around the statements of one thread's item.

    Args:
        grid: number of blocks.
        block: threads a block.
        number: the declarations of the item's number.
        is_item: the condition under which there is such an item.
    """

    grid: int
    block: int
    number: tuple[str, ...]
    is_item: str

    def around(self, lines: Sequence[str], *, has_faults: bool) -> tuple[str, ...]:
        """The statements of the kernel. One that checks must come to its end with all threads."""
        if not has_faults:
            return (*self.number, f"if (!({self.is_item})) return;", *lines)
        item = (f"if ({self.is_item}) {{", *(f"{INDENT}{line}" for line in lines), "}")
        return (*self.number, *item, *END_OF_BLOCK)


def _assemble(kernel: Node, emission: _Emission, frame: _Frame) -> KernelSource:
    context, sites = emission.context, emission.faults.sites
    signature = build_signature(kernel.body, context, has_faults=bool(sites))
    lines = frame.around(emission.blocks.lines, has_faults=bool(sites))
    statements = (*signature.slot_reads, *lines)
    grid, block = frame.grid, frame.block
    text = "\n".join(
        [
            ir_comment(kernel),
            *emission.tables.definitions,
            signature.head(context.name, block),
            *(f"{INDENT}{line}" for line in statements),
            "}",
        ]
    )
    return KernelSource(context.name, text, INCLUDES, grid, block, 0, signature.params, sites)


def _emit_elements(emission: _Emission, threads: int) -> _Frame:
    """One thread an element."""
    count = emission.body.outputs[0].type.numel
    block = _block_threads(threads, count)
    blocks = emission.blocks
    writer = ExpressionWriter(blocks, emission.load, emission.tables, emission.faults)
    blocks.declare("i")
    position = variable("i", count)
    emission.store_all(writer, lambda node: unravel(position, node.shape))
    number = _thread_number("i", emission, block)
    return _Frame(-(-count // block), block, (number,), f"i < {count}")


def _emit_rows(emission: _Emission, rows: _Rows, threads: int) -> _Frame:
    """One warp a row."""
    block = _block_threads(threads, rows.count * WARP_LANES)
    # Uniform: all lanes of a warp have the same row.
    emission.blocks = blocks = CodeBlocks(is_uniform=True)
    blocks.declare("row")
    writer = ExpressionWriter(blocks, emission.load, emission.tables, emission.faults, lane="lane")
    head = f"for (int e = lane; e < {rows.length}; e += {WARP_LANES})"
    head = "if (lane == 0)" if rows.axis is None else head
    writer.loop(head, "e", lambda: _store_element(emission, writer, rows), is_uniform=False)
    number = _thread_number("row", emission, block, WARP_LANES)
    lane = f"const int lane = threadIdx.x % {WARP_LANES};"
    return _Frame(-(-rows.count * WARP_LANES // block), block, (number, lane), f"row < {rows.count}")


def _store_element(emission: _Emission, writer: ExpressionWriter, rows: _Rows) -> None:
    """Store element `e` of row `row` of every result."""
    row, element = variable("row", rows.count), variable("e", rows.length)
    emission.store_all(writer, lambda node: rows.indices(node, row, element))


def _thread_number(name: str, emission: _Emission, block: int, divisor: int = 1) -> str:
    """The declaration of the thread's number in the grid, of a width that fits all indices of the kernel."""
    number = f"blockIdx.x * {block} + threadIdx.x"
    type = "int"
    if _largest_position(emission.body, emission.context) >= LARGEST_NARROW:
        number, type = f"static_cast<long long>(blockIdx.x) * {block} + threadIdx.x", "long long"
    number = f"({number}) / {divisor}" if divisor > 1 else number
    return f"const {type} {name} = {number};"


def _largest_position(body: Graph, context: KernelContext) -> int:
    """No index, and no position in a buffer, is larger."""
    spans = [node.type.numel for node in body.nodes]
    buffers = (
        *zip(body.inputs, context.operand_strides, strict=True),
        *zip(body.outputs, context.result_strides, strict=True),
    )
    for node, strides in buffers:
        spans.append(sum((size - 1) * stride for size, stride in zip(node.shape, strides, strict=True)))
    return max(spans)


def _block_threads(threads: int, needed: int) -> int:
    """Whole warps, no more than are needed."""
    return min(threads, -(-needed // WARP_LANES) * WARP_LANES)


def _find_rows(body: Graph, context: KernelContext) -> _Rows | None:
    """The rows that warps compute, or None where threads compute elements."""
    shape = body.outputs[0].shape
    single = _Rows(shape, None)
    if max(_rehearse(body, context, single).hoisted_terms, default=0) < SHARED_REDUCTION_TERMS:
        return None
    if any(node.shape != shape for node in body.outputs):
        return single
    for axis in reversed(range(len(shape))):
        rows = _Rows(shape, axis)
        if shape[axis] > 1 and _shares_reductions(_rehearse(body, context, rows)):
            return rows
    return single


def _shares_reductions(rehearsal: Rehearsal) -> bool:
    """Whether no lane is left with a long reduction of its own."""
    return max(rehearsal.inside_terms, default=0) < SHARED_REDUCTION_TERMS


def _rehearse(body: Graph, context: KernelContext, rows: _Rows) -> Rehearsal:
    """Which reductions would stand before the loop over a row's elements, and which inside."""
    emission = _Emission.of(body, context)
    emission.blocks.declare("row")
    writer = ExpressionWriter(emission.blocks, emission.load, emission.tables, emission.faults)
    return writer.rehearse("e", lambda: _store_element(emission, writer, rows))
