"""Stages of generated expressions: elementwise regions and reductions, and copies into operand tiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dlrmc.codegen.code_blocks import CodeBlocks
from dlrmc.codegen.expressions import ExpressionWriter, Indices
from dlrmc.codegen.index_expressions import dot, render, unravel, variable
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.rows.layout import Copy
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tile_windows import Place
from dlrmc.codegen.scalar_types import loaded, stored
from dlrmc.ir.graph import Node
from dlrmc.schedule.row_tiles import Tile

INCLUDES = ("scalars.cuh", "math.cuh", "faults.cuh", "reduce.cuh")


def emit_map_stage(stage: Node, context: StageContext) -> StageText:
    """The loop that computes and writes every element of a map stage's result."""
    result = context.places.result(stage)
    return _loop(stage, stage.body.outputs[0], result.pointer, result.strides, context)


def emit_copy(copy: Copy, context: StageContext) -> StageText:
    """The loop that copies one part into an operand tile."""
    part = copy.part
    pointer = f"{copy.buffer.name} + {part.offset}" if part.offset else copy.buffer.name
    return _loop(copy.stage, part.value, pointer, part.strides, context)


def emit_store(value: Node, context: StageContext) -> StageText:
    """The loop that copies a yielded value from its home to the kernel's result."""
    place = context.places.returned(value)
    roots = {value: value}
    return _element_loop(value, roots, place.pointer, place.strides, context)


def _loop(
    stage: Node, value: Node, pointer: str, strides: tuple[int, ...], context: StageContext
) -> StageText:
    roots = dict(zip(stage.body.inputs, stage.inputs, strict=True))
    return _element_loop(value, roots, pointer, strides, context)


def _element_loop(
    value: Node, roots: Mapping[Node, Node], pointer: str, strides: tuple[int, ...], context: StageContext
) -> StageText:
    """One element a thread and turn; rows past the end of the batch are left out.

    `roots` are the values of the tile's graph that the stage reads, by their name in the stage.
    """
    tile_rows = context.places.tile.rows
    per_row = value.type.numel // tile_rows
    blocks = CodeBlocks()
    places = {inner: context.places.of(outer) for inner, outer in roots.items()}
    writer = ExpressionWriter(
        blocks,
        _loader(places),
        context.tables,
        context.sites,
        first_position=lambda root: _first_position(roots.get(root, root), context.places.tile),
    )

    def body() -> None:
        indices = unravel(variable("i", value.type.numel), value.shape)
        text = writer.value(value, indices)
        target = f"({pointer})[{render(dot(indices, strides))}]"
        blocks.write(f"{target} = {stored(text, value.type.dtype)};")

    count = "rows" if per_row == 1 else f"rows * {per_row}"
    writer.loop(f"for (int i = thread; i < {count}; i += {context.threads})", "i", body, is_uniform=False)
    warps = math.ceil(value.type.numel / WARP_LANES)
    return StageText((), blocks.lines, INCLUDES, warps)


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
