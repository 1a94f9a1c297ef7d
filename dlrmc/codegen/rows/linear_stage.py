"""The stage of a `linear`: x tile in shared memory times weights, by LinearRows of linear.cuh."""

from __future__ import annotations

import math
from dataclasses import replace

from dlrmc.codegen.kernels.linear_choice import linear_shape
from dlrmc.codegen.kernels.linear_problem import LinearProblem, Matrix, as_matrix
from dlrmc.codegen.kernels.linear_rows import rows_constants
from dlrmc.codegen.kernels.linear_text import linear_struct, shared_constants
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.tile_text import call
from dlrmc.codegen.kernels.windows import Window, tile_view
from dlrmc.codegen.rows.layout import PlacedTile, anchor_of
from dlrmc.codegen.rows.linear_choice import choose_stage_tile
from dlrmc.codegen.rows.operand_tiles import uses_tensor_cores
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tensor_tile import choose_tensor_tile
from dlrmc.codegen.rows.tile_windows import SHARED_ALIGNMENT_BYTES, TileWindows
from dlrmc.codegen.rows.weight_tiles import (
    BulkCopy,
    WeightShape,
    bulk_copies,
    copy_weights,
    weight_shape,
)
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Node
from dlrmc.ir.op import many, one, optional

BULK_ARCHITECTURE = 90


def emit_linear_stage(stage: Node, anchor: Node, x: PlacedTile, context: StageContext) -> StageText:
    """The text of one linear stage."""
    problem = _problem(anchor, TileWindows(context.places, stage))
    if stage in context.layout.weights:
        problem = _with_resident_weights(problem, anchor, context.layout.weights[stage].name)
    if uses_tensor_cores(anchor) and _has_packs(problem):
        return _tensor_stage(stage, problem, anchor, x, context)
    w_stride = problem.weight.row if stage in context.layout.weights else 0
    threads = threads_of_one(stage, context)
    tile = choose_stage_tile(linear_shape(problem), x.tile.strides[0], threads, w_stride)
    name = f"{context.name}_{stage.name}"
    struct = linear_struct(name, problem, rows_constants(problem, tile))
    arguments = _arguments(problem, x, context)
    tail = (_row_count(problem, context), "thread", str(context.threads), "IsReady()")
    statements = call(f"LinearRows<{name}_sizes>::run", *arguments, "0", *tail)
    return StageText(struct, statements, ("linear.cuh",), tile.warp_blocks)


def threads_of_one(stage: Node, context: StageContext) -> int:
    """The threads that a stage may count on: its share where other layers run in the same phase."""
    phases = context.layout.phases
    layers = sum(
        phases[other] == phases[stage] and other.attributes.str("impl") == "linear" for other in phases
    )
    return max(WARP_LANES, context.threads // layers // WARP_LANES * WARP_LANES)


def _tensor_stage(
    stage: Node, problem: LinearProblem, anchor: Node, x: PlacedTile, context: StageContext
) -> StageText:
    """The same by tensor cores (linear_tensor.cuh)."""
    tile = choose_tensor_tile(anchor, context.threads, context.layout.slices_k)
    name = f"{context.name}_{stage.name}"
    is_resident = stage in context.layout.weights
    constants = shared_constants(problem) | {
        "ROW_TILES": tile.row_tiles,
        "COLUMN_TILES": tile.column_tiles,
        "K_SLICES": tile.k_slices,
        "PRODUCTS": context.products,
        "X_STRIDE": x.tile.strides[0],
        "W_STRIDE": problem.weight.row,
        "W_IS_PADDED": is_resident,
    }
    struct = linear_struct(name, problem, constants)
    scratch = context.layout.scratch.get(stage)
    statements = call(
        f"LinearTensor<{name}_sizes>::run",
        *_arguments(problem, x, context),
        scratch.name if scratch else "nullptr",
        _row_count(problem, context),
        "thread",
        str(context.threads),
    )
    return StageText(struct, statements, ("linear_tensor.cuh",), tile.units)


def _has_packs(problem: LinearProblem) -> bool:
    """Whether weights can be read in aligned packs of 4 along k."""
    weight = problem.weight
    return weight.column == 1 and weight.window.pack(weight.window.shape[1], (weight.row,)) == 4


def _arguments(problem: LinearProblem, x: PlacedTile, context: StageContext) -> tuple[str, ...]:
    """x, w, bias and y."""
    y, bias = problem.y, problem.bias
    nothing = f"static_cast<const {STORAGE_TYPES[problem.dtype]}*>(nullptr)"
    return (
        x.buffer.name,
        problem.weight.window.start,
        bias.window.start if bias else nothing,
        tile_view(y.window, y.row, 0, y.column),
    )


def _row_count(problem: LinearProblem, context: StageContext) -> str:
    per_row = problem.rows // context.places.tile.rows
    return "rows" if per_row == 1 else f"rows * {per_row}"


def _with_resident_weights(problem: LinearProblem, anchor: Node, buffer: str) -> LinearProblem:
    """The problem with weights and bias as `copy_weights` leaves them in shared memory."""
    shape = weight_shape(anchor)
    sizes, strides = (shape.n, shape.padded), (shape.stride, 1)
    weight = Window(problem.dtype, buffer, 0, sizes, strides, SHARED_ALIGNMENT_BYTES)
    bias = problem.bias
    if bias is not None:
        window = Window(problem.dtype, buffer, shape.bias_offset, (shape.n,), (1,), SHARED_ALIGNMENT_BYTES)
        bias = Matrix(window, 0, 1 if shape.n > 1 else 0)
    # Padding is zero on both sides, so that it may be multiplied too.
    return replace(problem, k=shape.padded, weight=Matrix(weight, shape.stride, 1), bias=bias)


def copy_weight_statements(stage: Node, context: StageContext) -> list[str]:
    """The statements by which all threads start the copies of a stage's weights into shared memory."""
    shape, buffer, weight, bias = _weight_windows(stage, context)
    return list(copy_weights(shape, buffer, weight, bias, context.threads))


def bulk_weight_copies(stage: Node, context: StageContext) -> list[BulkCopy]:
    """The same as bulk copies; empty where the device has none or the weights stand otherwise in memory."""
    if context.places.context.limits.architecture < BULK_ARCHITECTURE:
        return []
    return bulk_copies(*_weight_windows(stage, context))


def _weight_windows(stage: Node, context: StageContext) -> tuple[WeightShape, str, Window, Window | None]:
    anchor = anchor_of(stage)
    windows = TileWindows(context.places, stage)
    bias = optional(anchor.operands[2])
    return (
        weight_shape(anchor),
        context.layout.weights[stage].name,
        windows.operand(one(anchor.operands[1])),
        None if bias is None else windows.operand(bias),
    )


def _problem(anchor: Node, windows: TileWindows) -> LinearProblem:
    parts, weight, bias = many(anchor.operands[0]), one(anchor.operands[1]), optional(anchor.operands[2])
    attributes = anchor.attributes
    rows, n = math.prod(anchor.shape[:-1]), anchor.shape[-1]
    beta = attributes.float("beta")
    return LinearProblem(
        dtype=anchor.type.dtype,
        rows=rows,
        n=n,
        k=sum(part.shape[-1] for part in parts),
        parts=(),
        weight=as_matrix(windows.operand(weight)),
        bias=None if bias is None or beta == 0.0 else _bias(windows.operand(bias)),
        y=as_matrix(_as_rows(windows.result(anchor), rows)),
        alpha=attributes.float("alpha"),
        beta=beta,
        activation=attributes.str("act"),
        slope=attributes.float("slope"),
    )


def _bias(window: Window) -> Matrix:
    return Matrix(window, 0, window.strides[0] if window.shape[0] > 1 else 0)


def _as_rows(window: Window, rows: int) -> Window:
    flat = window.reshaped((rows, window.shape[-1]))
    if flat is None:
        found = f"strides {list(window.strides)}"
        raise CodegenError("linear stage", found=found, expected="rows of one stride")
    return flat
