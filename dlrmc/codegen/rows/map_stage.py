"""Stages of generated expressions: elementwise regions and reductions, and copies into operand tiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dlrmc.codegen.code_blocks import CodeBlocks
from dlrmc.codegen.expressions import ExpressionWriter, Indices, Rehearsal
from dlrmc.codegen.index_expressions import dot, render, unravel, variable
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.tile_text import offset_by
from dlrmc.codegen.rows.layout import Copy
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tile_windows import Place
from dlrmc.codegen.scalar_types import STORAGE_TYPES, loaded, stored
from dlrmc.ir.graph import Node
from dlrmc.ir.strided import resolve_strided
from dlrmc.schedule.row_tiles import Tile

# Where as many elements share a reduction, a warp computes it once: the shuffles cost less than repeating it.
SHORTEST_LINE = 12

# Smaller elements have no instruction of their own in load_pack_early.
EARLY_BYTES = 4

INCLUDES = ("scalars.cuh", "math.cuh", "faults.cuh", "reduce.cuh")


def emit_map_stage(stage: Node, context: StageContext) -> StageText:
    """The loop that computes and writes every element of a map stage's result."""
    result, value = context.places.result(stage), stage.body.outputs[0]
    roots = stage.outer
    axis = _line_axis(value, roots, context)
    if axis is not None:
        return _line_loop(value, axis, roots, result.pointer, result.strides, context)
    return _element_loop(value, roots, result.pointer, result.strides, context)


def emit_copy(copy: Copy, context: StageContext) -> StageText:
    """The loop that copies one part into an operand tile."""
    part = copy.part
    pointer = f"{copy.buffer.name} + {part.offset}" if part.offset else copy.buffer.name
    roots = copy.stage.outer
    early = _early_place(part.value, roots, context) if copy.phase == 0 else None
    if early is not None:
        return _early_copy(copy, early, pointer, context)
    return _element_loop(part.value, roots, pointer, part.strides, context)


def _early_place(value: Node, roots: Mapping[Node, Node], context: StageContext) -> str | None:
    """Where element `i` of a value stands in memory; None for more than one element a thread."""
    places = {inner: context.places.of(outer) for inner, outer in roots.items()}
    found = resolve_strided(value, {inner: place.strides for inner, place in places.items()})
    is_small = value.type.numel <= context.threads and value.type.dtype.size_bytes >= EARLY_BYTES
    if found is None or not is_small or found.root not in roots or not roots[found.root].is_op("input"):
        return None
    start = offset_by(places[found.root].pointer, (str(found.offset), 1 if found.offset else 0))
    return f"{start} + {render(dot(_indices(value), found.strides))}"


def _indices(value: Node) -> Indices:
    """The index of element number `i`."""
    return unravel(variable("i", value.type.numel), value.shape)


def _early_copy(copy: Copy, place: str, pointer: str, context: StageContext) -> StageText:
    """A copy whose loads are asked for at the begin of the tile: nobody waits for them before the store."""
    value, name = copy.part.value, f"{copy.buffer.name}_{copy.part.offset}"
    element = STORAGE_TYPES[value.type.dtype]
    target = f"({pointer})[{render(dot(_indices(value), copy.part.strides))}]"
    guard = f"if (const int i = threadIdx.x; i < {_count(value.type.numel // context.places.tile.rows)})"
    return StageText(
        (),
        [f"{guard} {target} = {name}.at[0];"],
        ("views.cuh", "ptx.cuh"),
        0,
        early=[
            f"Pack<{element}, 1> {name} = {{}};",
            f"{guard} {name} = load_pack_early<1>({place});",
        ],
        early_bytes=value.type.numel * value.type.dtype.size_bytes,
    )


def emit_store(value: Node, context: StageContext) -> StageText:
    """The loop that copies a yielded value from its home to the kernel's result."""
    place = context.places.returned(value)
    roots = {value: value}
    return _element_loop(value, roots, place.pointer, place.strides, context)


def _element_loop(
    value: Node, roots: Mapping[Node, Node], pointer: str, strides: tuple[int, ...], context: StageContext
) -> StageText:
    """One element a thread and turn; rows past the end of the batch are left out.

    `roots` are the values of the tile's graph that the stage reads, by their name in the stage.
    """
    per_row = value.type.numel // context.places.tile.rows
    writer = _writer(CodeBlocks(), roots, context)

    def body() -> None:
        _write_element(writer, value, _indices(value), pointer, strides)

    head = f"for (int i = thread; i < {_count(per_row)}; i += {context.threads})"
    if value.type.numel <= context.threads:
        head = f"if (const int i = thread; i < {_count(per_row)})"
    writer.loop(head, "i", body, is_uniform=False)
    warps = math.ceil(value.type.numel / WARP_LANES)
    return StageText((), writer.blocks.lines, INCLUDES, warps)


def _line_loop(
    value: Node,
    axis: int,
    roots: Mapping[Node, Node],
    pointer: str,
    strides: tuple[int, ...],
    context: StageContext,
) -> StageText:
    """One line along `axis` a warp and turn: its lanes share the line's reductions, then its elements."""
    length = value.shape[axis]
    lines = value.type.numel // length
    # Uniform: all lanes of a warp have the same line.
    writer = _writer(CodeBlocks(is_uniform=True), roots, context, lane="lane")

    def element() -> None:
        _write_element(writer, value, _in_line(value, axis), pointer, strides)

    def line() -> None:
        head = f"for (int e = lane; e < {length}; e += {WARP_LANES})"
        writer.loop(head, "e", element, is_uniform=False)

    writer.blocks.write(f"const int lane = thread % {WARP_LANES};")
    count = _count(lines // context.places.tile.rows)
    head = f"for (int line = thread / {WARP_LANES}; line < {count}; line += {context.threads // WARP_LANES})"
    writer.loop(head, "line", line, is_uniform=True)
    return StageText((), writer.blocks.lines, INCLUDES, lines)


def _in_line(value: Node, axis: int) -> Indices:
    """The index of element `e` of line `line`."""
    length = value.shape[axis]
    around = (*value.shape[:axis], *value.shape[axis + 1 :])
    outer = unravel(variable("line", value.type.numel // length), around)
    return (*outer[:axis], variable("e", length), *outer[axis:])


def _line_axis(value: Node, roots: Mapping[Node, Node], context: StageContext) -> int | None:
    """The last dimension along which each long reduction is one for the whole line; None if there is none."""
    for axis in reversed(range(1, value.type.rank)):
        rehearsal = _rehearse_line(value, axis, roots, context)
        is_shared = max(rehearsal.hoisted_terms, default=0) >= SHORTEST_LINE
        if value.shape[axis] >= SHORTEST_LINE and is_shared:
            return axis if max(rehearsal.inside_terms, default=0) < SHORTEST_LINE else None
    return None


def _rehearse_line(value: Node, axis: int, roots: Mapping[Node, Node], context: StageContext) -> Rehearsal:
    """Which reductions would stand before the loop over a line's elements, and which inside."""
    writer = _writer(CodeBlocks(), roots, context)
    writer.blocks.declare("line")

    def element() -> None:
        writer.value(value, _in_line(value, axis))

    return writer.rehearse("e", element)


def _writer(
    blocks: CodeBlocks, roots: Mapping[Node, Node], context: StageContext, *, lane: str = ""
) -> ExpressionWriter:
    places = {inner: context.places.of(outer) for inner, outer in roots.items()}
    return ExpressionWriter(
        blocks,
        _loader(places),
        context.tables,
        context.sites,
        lane=lane,
        first_position=lambda root: _first_position(roots.get(root, root), context.places.tile),
    )


def _write_element(
    writer: ExpressionWriter, value: Node, indices: Indices, pointer: str, strides: tuple[int, ...]
) -> None:
    text = writer.value(value, indices)
    target = f"({pointer})[{render(dot(indices, strides))}]"
    writer.blocks.write(f"{target} = {stored(text, value.type.dtype)};")


def _count(per_row: int) -> str:
    return "rows" if per_row == 1 else f"rows * {per_row}"


def _first_position(value: Node, tile: Tile) -> str:
    """Where the tile's part of a value begins in the whole batch's: all but whole operands go by rows."""
    operand = tile.operands.get(value)
    if value.is_op("const") or (operand is not None and operand.role == "whole"):
        return ""
    return f"first_row * {value.type.numel // tile.rows}"


def _loader(roots: Mapping[Node, Place]) -> Callable[[Node, Indices], str | None]:
    def load(node: Node, indices: Indices) -> str | None:
        place = roots.get(node)
        if place is None:
            return None
        element = f"({place.pointer})[{render(dot(indices, place.strides))}]"
        return loaded(element, node.type.dtype)

    return load
