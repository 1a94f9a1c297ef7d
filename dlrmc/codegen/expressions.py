"""From an IR value at an index to a C expression, with every intermediate value in a local of its own.

The writer asks a callback for the values that lie in memory and computes all others from their operands. So
the same writer serves a kernel that reads global memory and a stage that reads a tile in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dlrmc.codegen.code_blocks import CodeBlocks
from dlrmc.codegen.constant_tables import ConstantTables
from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.index_expressions import Index, constant, render
from dlrmc.codegen.scalar_types import COMPUTE_TYPES, rounded
from dlrmc.codegen.view_indices import broadcast_index, is_view, viewed
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Node
from dlrmc.ir.op import Elementwise, many
from dlrmc.ir.types import DType

Indices = tuple[Index, ...]
# The compute value of an element that lies in memory, or None where the value must be computed.
Load = Callable[[Node, Indices], str | None]
# Nested cats and reads of one value at many indices can multiply without bound; no sound region comes near.
MOST_VALUES = 8192

Handler = Callable[["ExpressionWriter", Node, Indices], str]


@dataclass(slots=True)
class Rehearsal:
    """The reductions met while a loop was written for nothing.

    Args:
        depth: how many blocks are open outside of the loop.
        requests: write those that can stand before the loop.
        hoisted_terms: how many terms each of them reduces.
        inside_terms: how many terms each of the others reduces.
    """

    depth: int
    requests: list[Callable[[], str]] = field(default_factory=list[Callable[[], str]])
    hoisted_terms: list[int] = field(default_factory=list[int])
    inside_terms: list[int] = field(default_factory=list[int])


class ExpressionWriter:
    """Writes the statements that compute IR values at given indices.

    Args:
        blocks: where the statements go. Index variables must be declared there.
        load: the values in memory.
        tables: the constants in memory.
        faults: the checks of user's indices.
        lane: the C variable that holds the thread's lane, where whole warps compute uniform values together;
            empty where every thread is on its own.
        first_position: where the elements of a value begin in the whole that a fault's position is told of,
            as a C expression; empty for 0.
    """

    def __init__(
        self,
        blocks: CodeBlocks,
        load: Load,
        tables: ConstantTables,
        faults: FaultSites,
        lane: str = "",
        first_position: Callable[[Node], str] = lambda node: "",
    ) -> None:
        self.blocks = blocks
        self.tables = tables
        self.faults = faults
        self.lane = lane
        self.first_position = first_position
        self._load = load
        self._rehearsal: Rehearsal | None = None
        self._bound_count = 0

    def value(self, node: Node, indices: Indices) -> str:
        """The element of `node` at `indices`, as a C expression of its compute type.

        Raises:
            CodegenError: where the value is neither in memory nor an op that this writer knows.
        """
        key = (node, indices)
        bound = self.blocks.bound(key)
        if bound is not None:
            return bound
        loaded = self._load(node, indices)
        if loaded is not None:
            return self.bind(node, indices, loaded)
        if node.is_op("const"):
            return self.tables.element(node, indices)
        if is_view(node):
            return self.value(*viewed(node, indices))
        if isinstance(node.op, Elementwise):
            return self.bind(node, indices, self._elementwise(node, indices))
        return self._handler(node)(self, node, indices)

    def bind(self, node: Node, indices: Indices, expression: str) -> str:
        """Put the element's value into a local, and give its name."""
        self._count_value(node)
        name = self.blocks.free_name(f"v_{node.name}")
        self.blocks.write(f"const {COMPUTE_TYPES[node.type.dtype]} {name} = {expression};")
        self.blocks.bind((node, indices), name)
        return name

    def loop(self, head: str, variable: str, body: Callable[[], None], *, is_uniform: bool) -> None:
        """A loop (or condition) that declares `variable`.

        Reductions inside that need nothing of what it declares are computed before it.
        """
        if self._rehearsal is None:
            for request in self.rehearse(variable, body).requests:
                request()
        with self.blocks.block(head, is_uniform=is_uniform):
            self.blocks.declare(variable)
            body()

    def rehearse(self, variable: str, body: Callable[[], None]) -> Rehearsal:
        """Write the body of a loop for nothing, to see which reductions it needs."""
        rehearsal = self._rehearsal = Rehearsal(self.blocks.depth)
        try:
            with self.blocks.rehearsal():
                self.blocks.declare(variable)
                body()
        finally:
            self._rehearsal = None
        return rehearsal

    def hoist(self, variables: frozenset[str], term_count: int, request: Callable[[], str]) -> bool:
        """In a rehearsal, keep the request for a reduction if it can stand before the loop.

        Args:
            variables: the index variables that the reduction depends on.
            term_count: how many terms it reduces.
            request: writes it.
        """
        if self._rehearsal is None:
            return False
        if not self.blocks.declares_all(variables, self._rehearsal.depth):
            self._rehearsal.inside_terms.append(term_count)
            return False
        self._rehearsal.hoisted_terms.append(term_count)
        self._rehearsal.requests.append(request)
        return True

    def _count_value(self, node: Node) -> None:
        self._bound_count += 1
        if self._bound_count > MOST_VALUES:
            raise CodegenError(
                f"%{node.name}",
                found=f"a region that needs more than {MOST_VALUES} values for one element",
                expected="fewer: a value is computed once for each index at which the region reads it",
                hint="give a value that is read in many places a kernel of its own",
            )

    def _elementwise(self, node: Node, indices: Indices) -> str:
        assert isinstance(node.op, Elementwise)
        arguments: list[str] = []
        dtypes: list[DType] = []
        for operand in node.inputs:
            arguments.append(self.value(operand, broadcast_index(indices, operand.shape)))
            dtypes.append(operand.type.dtype)
        expression = node.op.cuda(tuple(arguments), tuple(dtypes), node.attributes)
        return rounded(expression, node.type.dtype)

    def _handler(self, node: Node) -> Handler:
        # The handlers use this class, so that they cannot be imported before it.
        from dlrmc.codegen.lookup_expressions import LOOKUPS
        from dlrmc.codegen.order_expressions import ORDERS
        from dlrmc.codegen.reduction_expressions import REDUCTIONS

        handler = {"cat": _cat, **LOOKUPS, **REDUCTIONS, **ORDERS}.get(node.op.name)
        if handler is None:
            raise CodegenError(
                f"%{node.name}",
                found=f"op {node.op.name} inside an expression",
                expected="an elementwise op, a view, cat, a lookup, a reduction or a sort",
                hint="give the op a kernel of its own",
            )
        return handler


def _cat(writer: ExpressionWriter, node: Node, indices: Indices) -> str:
    """The part that holds the element; where the index does not tell which, a chain of conditions."""
    dim = node.attributes.int("dim")
    position = indices[dim]
    parts = _reachable_parts(node, dim, position)
    if len(parts) == 1:
        part, start = parts[0]
        return writer.value(part, _replaced(indices, dim, _shifted(position, start)))
    name = writer.blocks.free_name(f"v_{node.name}")
    writer.blocks.write(f"{COMPUTE_TYPES[node.type.dtype]} {name};")
    for place, (part, start) in enumerate(parts):
        condition = f"if ({render(position)} < {start + part.shape[dim]})"
        keyword = "" if place == 0 else "else "
        with writer.blocks.block(f"{keyword}{condition}" if place < len(parts) - 1 else "else"):
            local = _local_position(writer, part, position, start, dim)
            writer.blocks.write(f"{name} = {writer.value(part, _replaced(indices, dim, local))};")
    writer.blocks.bind((node, indices), name)
    return name


def _reachable_parts(node: Node, dim: int, position: Index) -> list[tuple[Node, int]]:
    """The parts, with their starts, that overlap the range of the position."""
    reachable: list[tuple[Node, int]] = []
    start = 0
    for part in many(node.operands[0]):
        stop = start + part.shape[dim]
        if start < stop and position.constant < stop and position.largest >= start:
            reachable.append((part, start))
        start = stop
    return reachable


def _local_position(writer: ExpressionWriter, part: Node, position: Index, start: int, dim: int) -> Index:
    """The position within a part, in a variable of the part's extent."""
    if part.shape[dim] == 1:
        return constant(0)
    name = writer.blocks.free_name(f"{part.name}_at")
    offset = f" - {start}" if start else ""
    writer.blocks.write(f"const auto {name} = {render(position)}{offset};")
    return writer.blocks.variable(name, part.shape[dim])


def _shifted(position: Index, start: int) -> Index:
    return Index(position.terms, position.constant - start)


def _replaced(indices: Indices, dim: int, index: Index) -> Indices:
    return (*indices[:dim], index, *indices[dim + 1 :])
