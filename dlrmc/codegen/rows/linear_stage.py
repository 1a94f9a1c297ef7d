"""The stage of a `linear`: x tile in shared memory times weights, by LinearRows of linear.cuh."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from dlrmc.codegen.kernels.linear import activation_function, linear_shape, rows_constants, shared_constants
from dlrmc.codegen.kernels.linear_problem import LinearProblem, Matrix, as_matrix
from dlrmc.codegen.kernels.linear_tile import WARP_LANES, LinearShape, RowsTile
from dlrmc.codegen.kernels.sizes import constants_struct, power_of_two_at_least, round_up
from dlrmc.codegen.kernels.tile_text import call
from dlrmc.codegen.kernels.windows import Window, tile_view
from dlrmc.codegen.rows.layout import PlacedTile, anchor_of
from dlrmc.codegen.rows.operand_tiles import padded_rows, uses_tensor_cores
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tensor_tile import choose_tensor_tile
from dlrmc.codegen.rows.tile_windows import SHARED_ALIGNMENT_BYTES, TileWindows
from dlrmc.codegen.rows.weight_tiles import copy_weights, weight_shape
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Node
from dlrmc.ir.op import many, one, optional

# Cycles, roughly: a trip to L2, one step of a shuffle butterfly, one round of a warp's turn.
_L2_LATENCY = 300
_SHUFFLE = 30
_TURN = 60


def emit_linear_stage(stage: Node, anchor: Node, x: PlacedTile, context: StageContext) -> StageText:
    """The text of one linear stage."""
    problem = _problem(anchor, TileWindows(context.places, stage))
    if stage in context.layout.weights:
        problem = _with_resident_weights(problem, anchor, context.layout.weights[stage].name)
    if uses_tensor_cores(anchor) and _has_packs(problem):
        return _tensor_stage(stage, problem, anchor, x, context)
    tile = choose_stage_tile(linear_shape(problem), x.tile.strides[0], context.threads)
    name = f"{context.name}_{stage.name}"
    struct = constants_struct(
        f"{name}_sizes",
        {"Element": STORAGE_TYPES[problem.dtype]},
        rows_constants(problem, tile),
        activation_function(problem),
    )
    arguments = _arguments(problem, x, context)
    tail = (_row_count(problem, context), "thread", str(context.threads), "IsReady()")
    statements = call(f"LinearRows<{name}_sizes>::run", *arguments, "0", *tail)
    return StageText(struct, statements, ("linear.cuh",), tile.warp_blocks)


def _tensor_stage(
    stage: Node, problem: LinearProblem, anchor: Node, x: PlacedTile, context: StageContext
) -> StageText:
    """The same by tensor cores (linear_tensor.cuh)."""
    tile = choose_tensor_tile(anchor, context.threads)
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
    types = {"Element": STORAGE_TYPES[problem.dtype]}
    struct = constants_struct(f"{name}_sizes", types, constants, activation_function(problem))
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
    """The statements that start the copies of a stage's weights into shared memory."""
    anchor = anchor_of(stage)
    windows = TileWindows(context.places, stage)
    bias = optional(anchor.operands[2])
    return list(
        copy_weights(
            weight_shape(anchor),
            context.layout.weights[stage].name,
            windows.operand(one(anchor.operands[1])),
            None if bias is None else windows.operand(bias),
            context.threads,
        )
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


def choose_stage_tile(shape: LinearShape, x_stride: int, threads: int) -> RowsTile:
    """How lanes and warps share the results of a stage: the candidate of least estimated time.

    Args:
        shape: of the product on one tile.
        x_stride: of the x tile, in elements.
        threads: of the block, all of which work on the stage.
    """
    candidates = list(_candidates(shape, x_stride, threads))
    return min(candidates, key=lambda tile: _cycles(tile, shape, threads // WARP_LANES))


def _candidates(shape: LinearShape, x_stride: int, threads: int) -> Iterator[RowsTile]:
    for rows_per_lane in (1, 2, 4, 8):
        if rows_per_lane > padded_rows(shape.rows):
            return
        for columns_per_lane in (1, 2, 4):
            for lanes_over_columns in (1, 2, 4, 8, 16, 32):
                columns = columns_per_lane * lanes_over_columns
                if columns > power_of_two_at_least(shape.n):
                    break
                yield RowsTile(
                    rows=shape.rows,
                    block_columns=round_up(shape.n, columns),
                    rows_per_lane=rows_per_lane,
                    columns_per_lane=columns_per_lane,
                    lanes_over_rows=1,
                    lanes_over_columns=lanes_over_columns,
                    lanes_over_k=WARP_LANES // lanes_over_columns,
                    threads=threads,
                    x_stride=x_stride,
                )


def _cycles(tile: RowsTile, shape: LinearShape, warps: int) -> float:
    sums = tile.rows_per_lane * tile.columns_per_lane
    steps = tile.steps(shape.k)
    turns = -(-tile.warp_blocks // warps)
    issued = steps * (4 * sums + 4 * tile.columns_per_lane + 4 * tile.rows_per_lane + 4)
    folds = tile.lanes_over_k.bit_length() - 1
    issued += 3 * folds * tile.columns_per_lane * max(1, tile.rows_per_lane // 2) + 20
    latency = -(-steps // tile.unroll(shape)) * _L2_LATENCY + folds * _SHUFFLE + _TURN
    busy = min(warps, tile.warp_blocks)
    return turns * (latency + issued * max(1.0, busy / 4))
