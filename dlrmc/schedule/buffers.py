"""Where every value of a graph of kernels lives: which buffer, from which byte, with which strides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dlrmc.errors import PassError
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Elementwise, many
from dlrmc.ir.strided import Strided, input_window, packed_strides
from dlrmc.ir.types import TensorType, TupleType
from dlrmc.passes.align_weights import SECTOR_BYTES
from dlrmc.schedule.arena import Interval, pack
from dlrmc.schedule.plan import BufferRef

# The fewest columns of rows that are worth padding to whole sectors.
LEAST_PADDED_COLUMNS = 32


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of one value: a buffer, the first byte in it, and the strides in elements."""

    buffer: BufferRef
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placements:
    """The places of what kernels read, by value, and of what they write, by kernel and result number."""

    operands: Mapping[Node, Placement]
    results: Mapping[tuple[Node, int], Placement]
    arena_bytes: int


def place(
    graph: Graph, launches: Sequence[Node], residents: Sequence[Node], counted: Sequence[int] = ()
) -> Placements:
    """Give every value its place.

    A graph output is written straight into the caller's buffer, the parts of an `assemble` into their slices
    of its buffer, and everything else into the arena, where buffers share bytes if they never live at once.

    Args:
        graph: a graph after form-kernels.
        launches: its kernels in order of execution.
        residents: the weights, constants and derived values that its kernels read.
        counted: the numbers of the inputs whose number of elements comes with the call.

    Raises:
        PassError: where two items stand for one result of a kernel.
    """
    operands: dict[Node, Placement] = {}
    for index, node in enumerate(graph.inputs):
        _assign(operands, node, BufferRef("input", index, has_count=index in counted))
    for index, node in enumerate(residents):
        _assign(operands, node, BufferRef("resident", index))
    for index, node in enumerate(graph.outputs):
        _assign(operands, node, BufferRef("output", index))
    for node in graph.nodes:
        window = input_window(node)
        if window is not None:
            _assign(operands, node, _at(operands[window.root].buffer, window, node.type.dtype.size_bytes))
    sizes: list[int] = []
    # Users first: an assembled buffer is placed before the parts that are slices of it.
    for node in reversed(graph.nodes):
        if node not in operands and _has_buffer(node):
            strides = _arena_strides(graph, node)
            _assign_strided(operands, node, Placement(BufferRef("arena", len(sizes)), strides))
            sizes.append(_strided_bytes(node.type, strides))
    results = {key: operands[value] for key, value in _result_values(graph).items()}
    for kernel in launches:
        for index, kept in enumerate(result_types(kernel)):
            if (kernel, index) not in results:
                results[kernel, index] = Placement(BufferRef("arena", len(sizes)), packed_strides(kept.shape))
                sizes.append(kept.size_bytes)
    offsets, arena_bytes = pack(_lifetimes(launches, operands, results, sizes))
    return Placements(
        {node: _at_offset(placement, offsets) for node, placement in operands.items()},
        {key: _at_offset(placement, offsets) for key, placement in results.items()},
        arena_bytes,
    )


def _at(buffer: BufferRef, window: Strided, element_bytes: int) -> BufferRef:
    """Where a run of a buffer's elements begins; it has as many as its type says."""
    return replace(buffer, offset_bytes=window.offset * element_bytes, has_count=False)


def result_types(kernel: Node) -> tuple[TensorType, ...]:
    """The types of a kernel's results, in order."""
    kept = kernel.result_type
    return kept.items if isinstance(kept, TupleType) else (kept,)


def _has_buffer(node: Node) -> bool:
    return node.is_op("item", "assemble") or (
        node.is_op("kernel") and not isinstance(node.result_type, TupleType)
    )


def _arena_strides(graph: Graph, node: Node) -> tuple[int, ...]:
    """Packed, but where only products of matrices read the rows of a matrix: these start at whole sectors.

    Rows of 351 floats would be copied one float at a time.
    """
    packed = packed_strides(node.shape)
    if len(node.shape) != 2 or node.shape[1] < LEAST_PADDED_COLUMNS:
        return packed
    users = graph.users(node)
    if not users or not all(_reads_rows(user, node) for user in users):
        return packed
    period = SECTOR_BYTES // node.type.dtype.size_bytes
    return (-(-node.shape[1] // period) * period, 1)


def _reads_rows(kernel: Node, value: Node) -> bool:
    """Whether a kernel reads the value as a part of x of a linear, or beside it, as it stands."""
    if not kernel.is_op("kernel") or kernel.attributes.str("impl") != "linear":
        return False
    inner = kernel.body.inputs[kernel.inputs.index(value)]
    return all(
        isinstance(user.op, Elementwise)
        or (user.is_op("linear") and any(part is inner for part in many(user.operands[0])))
        for user in kernel.body.users(inner)
    )


def _strided_bytes(kept: TensorType, strides: tuple[int, ...]) -> int:
    """Bytes from the first element to the end of the last row."""
    if not kept.numel or len(strides) != 2:
        return kept.size_bytes
    return kept.shape[0] * strides[0] * kept.dtype.size_bytes


def _assign(places: dict[Node, Placement], node: Node, buffer: BufferRef) -> None:
    _assign_strided(places, node, Placement(buffer, packed_strides(node.shape)))


def _assign_strided(places: dict[Node, Placement], node: Node, placement: Placement) -> None:
    places[node] = placement
    if not node.is_op("assemble"):
        return
    dim = node.attributes.int("dim")
    offset_bytes = placement.buffer.offset_bytes
    for part in node.inputs:
        buffer = replace(placement.buffer, offset_bytes=offset_bytes)
        _assign_strided(places, part, Placement(buffer, placement.strides))
        offset_bytes += part.shape[dim] * placement.strides[dim] * part.type.dtype.size_bytes


def _result_values(graph: Graph) -> dict[tuple[Node, int], Node]:
    """The value that stands for each kernel result: the kernel itself or an `item` of it."""
    values: dict[tuple[Node, int], Node] = {}
    for node in graph.nodes:
        if node.is_op("item"):
            key = (node.inputs[0], node.attributes.int("index"))
            if key in values:
                raise PassError(
                    f"planning @{graph.name}",
                    found=f"%{node.name} and %{values[key].name} are both result {key[1]} of %{key[0].name}",
                    expected="one item for each result",
                    hint="run cse first",
                )
            values[key] = node
        elif node.is_op("kernel") and _has_buffer(node):
            values[node, 0] = node
    return values


def _lifetimes(
    launches: Sequence[Node],
    operands: Mapping[Node, Placement],
    results: Mapping[tuple[Node, int], Placement],
    sizes: Sequence[int],
) -> list[Interval]:
    touched: list[list[int]] = [[] for _ in sizes]
    for position, kernel in enumerate(launches):
        written = [results[kernel, index] for index in range(len(result_types(kernel)))]
        for placement in (*written, *(operands[operand] for operand in kernel.inputs)):
            if placement.buffer.kind == "arena":
                touched[placement.buffer.index].append(position)
    # An empty buffer is touched by no launch.
    return [
        Interval(size_bytes, min(positions, default=0), max(positions, default=0))
        for size_bytes, positions in zip(sizes, touched, strict=True)
    ]


def _at_offset(placement: Placement, offsets: Sequence[int]) -> Placement:
    """The placement with its arena buffer resolved to an offset in the one arena."""
    if placement.buffer.kind != "arena":
        return placement
    offset_bytes = offsets[placement.buffer.index] + placement.buffer.offset_bytes
    return replace(placement, buffer=BufferRef("arena", 0, offset_bytes))
