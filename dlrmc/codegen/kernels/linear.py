"""The `linear` kernel: y = act(alpha * x @ w.T + beta * bias) for x in one or more parts.

Two forms, chosen by `choose_tile`: a tile of rows held whole in shared memory (LinearRows of linear.cuh, also
a stage of row programs), and, for large products, both operands in chunks (TiledProduct of
tiled_product.cuh).

The constants of the emitted struct, beside those that the .cuh files name:
    Element                     storage type of x, w, bias and y
    N, K                        columns of y; depth, of all parts together
    W_COLUMN, W_K, W_VECTOR     strides of w in elements; how many weights move together
    HAS_BIAS, BIAS_ROW, BIAS_COLUMN, ALPHA, BETA, activation
    Y_VECTOR                    how many results move together
    UNROLL                      steps of 4 k whose weights are loaded together
"""

from __future__ import annotations

from dlrmc.codegen.code_blocks import INDENT
from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.linear_choice import choose_tile
from dlrmc.codegen.kernels.linear_problem import LINEAR_OPS, LinearProblem, Matrix, Part, linear_problem
from dlrmc.codegen.kernels.linear_tile import LinearShape, LinearTile, ProductTile, RowsTile
from dlrmc.codegen.kernels.sizes import Constant, constants_struct, round_up
from dlrmc.codegen.kernels.tile_text import call, indented, offset_by, shared_memory, tile_rows
from dlrmc.codegen.kernels.windows import Windows, find_anchor, tile_view
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.codegen.signature import Signature, build_signature, ir_comment
from dlrmc.codegen.source import KernelContext, KernelSource
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.ops.activations import literal

INCLUDES = ("linear.cuh", "tiled_product.cuh")


class Linear(KernelImpl):
    """Body: one linear, mm or addmm over strided views of the operands; rows of x and y of one stride."""

    name = "linear"

    def check(self, body: Graph) -> None:
        find_anchor(self, body, LINEAR_OPS)

    def emit(self, kernel: Node, context: KernelContext) -> KernelSource:
        return emit_linear(self, kernel, context)


def emit_linear(impl: KernelImpl, kernel: Node, context: KernelContext) -> KernelSource:
    """The source of a kernel whose anchor is a linear, mm or addmm.

    Raises:
        CodegenError: where the body does not fit `impl`.
    """
    anchor = find_anchor(impl, kernel.body, LINEAR_OPS)
    signature = build_signature(kernel.body, context, has_faults=False)
    problem = linear_problem(impl, anchor, Windows(impl, kernel.body, context, signature))
    tile = choose_tile(
        linear_shape(problem),
        context.limits,
        rows=kernel.attributes.int("rows"),
        threads=kernel.attributes.int("threads"),
    )
    emit = _emit_rows if isinstance(tile, RowsTile) else _emit_product
    lines = emit(problem, tile, context.name, signature)
    return KernelSource(
        context.name,
        "\n".join([ir_comment(kernel), *lines]),
        INCLUDES,
        tile.blocks(linear_shape(problem)),
        tile.threads,
        tile.shared_bytes(linear_shape(problem)),
        signature.params,
    )


def linear_shape(problem: LinearProblem) -> LinearShape:
    """What the choice of a tile depends on."""
    compute_bytes = max(problem.dtype.size_bytes, 4)
    return LinearShape(
        problem.rows,
        problem.n,
        problem.k,
        problem.dtype.size_bytes,
        compute_bytes,
        weights_along_k=problem.weight.column == 1,
    )


def shared_constants(problem: LinearProblem) -> dict[str, Constant]:
    """The constants of both forms: sizes, scales and the strides of the bias."""
    bias = problem.bias
    compute_type = problem.compute_type
    return {
        "N": problem.n,
        "K": problem.k,
        "HAS_BIAS": bias is not None,
        "BIAS_ROW": bias.row if bias else 0,
        "BIAS_COLUMN": bias.column if bias else 0,
        "ALPHA": f"{compute_type}={literal(problem.alpha, problem.dtype)}",
        "BETA": f"{compute_type}={literal(problem.beta, problem.dtype)}",
    }


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


def activation_function(problem: LinearProblem) -> tuple[str, ...]:
    """The activation as a static member function."""
    compute_type = problem.compute_type
    return (
        f"static __device__ __forceinline__ {compute_type} activation({compute_type} value) {{",
        f"{INDENT}return {problem.activation_expression};",
        "}",
    )


def _weight_vector(problem: LinearProblem, columns_per_lane: int) -> int:
    weight = problem.weight
    if weight.column == 1:
        return weight.window.pack(problem.k, (weight.row,))
    if weight.row == 1:
        return weight.window.pack(problem.n, (weight.column,), columns_per_lane)
    return 1


def _emit_rows(problem: LinearProblem, tile: LinearTile, name: str, signature: Signature) -> list[str]:
    assert isinstance(tile, RowsTile)
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
            _bias(problem, ("first_row",)),
            _from_row(problem.y),
            "first_column",
            "rows",
            "threadIdx.x",
            str(tile.threads),
            "BlockIsReady()",
        ),
    ]
    struct = _struct(name, problem, rows_constants(problem, tile))
    return [*struct, signature.head(name, tile.threads), *indented(body), "}"]


def _load_parts(problem: LinearProblem, tile: RowsTile) -> list[str]:
    """Copies of all parts, side by side, into the x tile."""
    lines: list[str] = []
    column, stride, threads = 0, tile.x_stride, str(tile.threads)
    for part in problem.parts:
        pack = _x_pack(part)
        while column % pack or stride % pack:
            pack //= 2
        start = f"shared + {column}" if column else "shared"
        lines += call(
            f"load_tile<{pack}>",
            f"TileSize<{tile.rows}, 1, {part.width}>()",
            _from_row(part.matrix),
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


def _emit_product(problem: LinearProblem, tile: LinearTile, name: str, signature: Signature) -> list[str]:
    assert isinstance(tile, ProductTile)
    column_blocks = -(-problem.n // tile.columns)
    y = problem.y
    start = offset_by(y.window.start, ("first_row", y.row), ("first_column", y.column))
    body = [
        *shared_memory(problem.compute_type),
        *signature.slot_reads,
        f"const int first_column = blockIdx.x % {column_blocks} * {tile.columns};",
        f"const int columns = min({tile.columns}, {problem.n} - first_column);",
        *tile_rows(problem.rows, tile.rows, f"blockIdx.x / {column_blocks}"),
        f"TiledProduct<{name}_sizes> product(shared, threadIdx.x);",
        *_add_parts(problem),
        *call(
            "product.store",
            tile_view(y.window, y.row, 0, y.column, start),
            "rows",
            "columns",
            f"LinearFinish<{name}_sizes>{{{_bias(problem, ('first_row', 'first_column'))}}}",
        ),
    ]
    constants = shared_constants(problem) | {
        "TILE_ROWS": tile.rows,
        "TILE_COLUMNS": tile.columns,
        "TILE_K": tile.k,
        "ROWS_PER_THREAD": tile.rows_per_thread,
        "COLUMNS_PER_THREAD": tile.columns_per_thread,
    }
    struct = _struct(name, problem, constants)
    return [*struct, signature.head(name, tile.threads), *indented(body), "}"]


def _add_parts(problem: LinearProblem) -> list[str]:
    """The products of each part with its columns of w."""
    lines: list[str] = []
    weight, k = problem.weight, 0
    for part in problem.parts:
        start = offset_by(weight.window.start, ("static_cast<long long>(first_column)", weight.row))
        start = offset_by(start, (str(k), weight.column if k else 0))
        is_packed = weight.column == 1 and k % 4 == 0
        w_pack = weight.window.pack(part.width, (weight.row,)) if is_packed else 1
        # Chunks move in packs of 4 or one by one.
        packs = ", ".join("4" if pack == 4 else "1" for pack in (_x_pack(part), w_pack))
        lines += call(
            f"product.add<{part.width}, {packs}>",
            _from_row(part.matrix),
            tile_view(weight.window, weight.row, 0, weight.column, start),
            "rows",
            "columns",
        )
        k += part.width
    return lines


def _x_pack(part: Part) -> int:
    matrix = part.matrix
    return matrix.window.pack(part.width, (matrix.row,)) if matrix.column == 1 else 1


def _struct(name: str, problem: LinearProblem, constants: dict[str, Constant]) -> list[str]:
    types = {"Element": STORAGE_TYPES[problem.dtype]}
    return constants_struct(f"{name}_sizes", types, constants, activation_function(problem))


def _from_row(matrix: Matrix) -> str:
    """The view of a matrix from the tile's first row on."""
    start = offset_by(matrix.window.start, ("first_row", matrix.row))
    return tile_view(matrix.window, matrix.row, 0, matrix.column, start)


def _bias(problem: LinearProblem, places: tuple[str, ...]) -> str:
    """The address of the bias of a tile's first row, and of its first column where that is asked for."""
    bias = problem.bias
    if bias is None:
        return f"static_cast<const {STORAGE_TYPES[problem.dtype]}*>(nullptr)"
    return offset_by(bias.window.start, *zip(places, (bias.row, bias.column), strict=False))
