"""The linear kernel on tiles of whole rows (LinearRows of linear.cuh), also a stage of row programs.

The constants of the emitted struct, beside those of every linear kernel (linear.py) and those that the .cuh
file names:
    W_COLUMN, W_K, W_VECTOR     strides of w in elements; how many weights move together
    UNROLL                      steps of 4 k whose weights are loaded together
"""

from __future__ import annotations

from dlrmc.codegen.kernels.linear_choice import linear_shape
from dlrmc.codegen.kernels.linear_problem import LinearProblem
from dlrmc.codegen.kernels.linear_text import (
    bias_address,
    epilogue_operands,
    from_first_row,
    linear_struct,
    shared_constants,
    x_pack,
)
from dlrmc.codegen.kernels.linear_tile import RowsTile
from dlrmc.codegen.kernels.sizes import Constant, round_up
from dlrmc.codegen.kernels.tile_text import call, indented, shared_memory, tile_rows
from dlrmc.codegen.signature import Signature


def rows_constants(problem: LinearProblem, tile: RowsTile) -> dict[str, Constant]:
    """The constants of LinearRows."""
    weight, y = problem.weight, problem.y
    return shared_constants(problem) | {
        "ROWS": tile.rows,
        "BLOCK_COLUMNS": tile.block_columns,
        "ROWS_PER_LANE": tile.rows_per_lane,
        "COLUMNS_PER_LANE": tile.columns_per_lane,
        "LANES_OVER_ROWS": tile.lanes_over_rows,
        "LANES_OVER_COLUMNS": tile.lanes_over_columns,
        "LANES_OVER_K": tile.lanes_over_k,
        "X_STRIDE": tile.x_stride,
        "W_COLUMN": weight.row,
        "W_K": weight.column,
        "W_VECTOR": _weight_vector(problem, tile.columns_per_lane),
        "Y_VECTOR": y.window.pack(problem.n, (y.row,), tile.columns_per_lane) if y.column == 1 else 1,
        "UNROLL": tile.unroll(linear_shape(problem)),
    }


def _weight_vector(problem: LinearProblem, columns_per_lane: int) -> int:
    weight = problem.weight
    if weight.column == 1:
        return weight.window.pack(problem.k, (weight.row,))
    if weight.row == 1:
        return weight.window.pack(problem.n, (weight.column,), columns_per_lane)
    return 1


def emit_rows(problem: LinearProblem, tile: RowsTile, name: str, signature: Signature) -> list[str]:
    """The struct of constants and the kernel."""
    column_blocks = -(-problem.n // tile.block_columns)
    body = [
        *shared_memory(problem.compute_type),
        *signature.slot_reads,
        f"const int first_column = blockIdx.x % {column_blocks} * {tile.block_columns};",
        *tile_rows(problem.rows, tile.rows, f"blockIdx.x / {column_blocks}"),
        *_load_parts(problem, tile),
        *call(
            f"LinearRows<{name}_sizes>::run",
            "shared",
            problem.weight.window.start,
            bias_address(problem, from_first_column=False),
            from_first_row(problem.y),
            "first_column",
            "rows",
            "threadIdx.x",
            str(tile.threads),
            "BlockIsReady()",
            epilogue_operands(problem, tile.columns_per_lane, from_first_column=False),
        ),
    ]
    struct = linear_struct(name, problem, rows_constants(problem, tile))
    return [*struct, signature.head(name, tile.threads), *indented(body), "}"]


def _load_parts(problem: LinearProblem, tile: RowsTile) -> list[str]:
    """Copies of all parts, side by side, into the x tile."""
    lines: list[str] = []
    column, stride, threads = 0, tile.x_stride, str(tile.threads)
    for part in problem.parts:
        pack = x_pack(part)
        while column % pack or stride % pack:
            pack //= 2
        start = f"shared + {column}" if column else "shared"
        lines += call(
            f"load_tile<{pack}>",
            f"TileSize<{tile.rows}, 1, {part.width}>()",
            from_first_row(part.matrix),
            f"TileView<{problem.compute_type}, {stride}>{{{start}}}",
            "rows",
            "threadIdx.x",
            threads,
        )
        column += part.width
    padded = round_up(problem.k, 4)
    if padded != problem.k:
        zero = f"zero_columns<{tile.rows}, 1, {problem.k}, {padded}>"
        lines += call(zero, f"TileView<{problem.compute_type}, {stride}>{{shared}}", "threadIdx.x", threads)
    return lines
