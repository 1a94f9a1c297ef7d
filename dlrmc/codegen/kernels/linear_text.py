"""Text that the forms of the linear kernel share."""

from __future__ import annotations

from collections.abc import Mapping

from dlrmc.codegen.code_blocks import INDENT
from dlrmc.codegen.kernels.linear_problem import LinearProblem, Matrix, Part
from dlrmc.codegen.kernels.sizes import Constant, constants_struct
from dlrmc.codegen.kernels.tile_text import offset_by, tile_rows
from dlrmc.codegen.kernels.windows import tile_view
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.ir.ops.activations import literal


def shared_constants(problem: LinearProblem) -> dict[str, Constant]:
    """The constants of all forms: sizes, scales and the strides of the bias."""
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


def activation_function(problem: LinearProblem) -> tuple[str, ...]:
    """The activation, and the epilogue behind it, as a static member function."""
    compute_type, epilogue = problem.compute_type, problem.epilogue
    operands = f", const {compute_type} (&operands)[{len(epilogue.operands)}]" if epilogue.operands else ""
    activated = problem.activation_expression
    statements = [f"return {activated};"]
    if epilogue.result:
        first = [] if activated == "value" else [f"value = {activated};"]
        statements = [*first, *epilogue.statements, f"return {epilogue.result};"]
    return (
        f"static __device__ __forceinline__ {compute_type} activation({compute_type} value{operands}) {{",
        *(f"{INDENT}{statement}" for statement in statements),
        "}",
    )


def linear_struct(
    name: str, problem: LinearProblem, constants: Mapping[str, Constant], products: str = ""
) -> list[str]:
    """The struct of constants, with the activation; `products` is a type of tensor_fragments.cuh."""
    types = {"Element": STORAGE_TYPES[problem.dtype]} | ({"Products": products} if products else {})
    return constants_struct(f"{name}_sizes", types, constants, activation_function(problem))


def epilogue_operands(problem: LinearProblem, most: int, *, from_first_column: bool) -> str:
    """The operands of the epilogue from the tile's first row on.

    Args:
        problem: that has them.
        most: how many neighbouring columns may be loaded together.
        from_first_column: whether they begin with the tile's first column.
    """
    views: list[str] = []
    for matrix in problem.epilogue.operands:
        pack = matrix.window.pack(problem.n, (matrix.row,), most) if matrix.column == 1 else 1
        start = offset_by(matrix.window.start, ("first_row", matrix.row))
        if from_first_column:
            start = offset_by(start, (_first_column(matrix), matrix.column))
        view = tile_view(matrix.window, matrix.row, 0, matrix.column, start)
        views.append(f"epilogue_operand<{pack}>({view})")
    return f"epilogue_operands({', '.join(views)})"


def tile_place(problem: LinearProblem, rows: int, columns: int) -> list[str]:
    """`first_row`, `rows`, `first_column` and `columns` of the block's tile; neighbours share rows of x."""
    column_blocks = -(-problem.n // columns)
    return [
        f"const int first_column = blockIdx.x % {column_blocks} * {columns};",
        f"const int columns = min({columns}, {problem.n} - first_column);",
        *tile_rows(problem.rows, rows, f"blockIdx.x / {column_blocks}"),
    ]


def tile_of_y(problem: LinearProblem) -> str:
    """The view of y from the tile's first row and column on."""
    y = problem.y
    start = offset_by(y.window.start, ("first_row", y.row), (_first_column(y), y.column))
    return tile_view(y.window, y.row, 0, y.column, start)


def from_first_row(matrix: Matrix) -> str:
    """The view of a matrix from the tile's first row on."""
    start = offset_by(matrix.window.start, ("first_row", matrix.row))
    return tile_view(matrix.window, matrix.row, 0, matrix.column, start)


def weights_of_part(problem: LinearProblem, first_k: int) -> str:
    """The view of w from the tile's first column and the part's first k on."""
    weight = problem.weight
    start = offset_by(weight.window.start, ("static_cast<long long>(first_column)", weight.row))
    start = offset_by(start, (str(first_k), weight.column if first_k else 0))
    return tile_view(weight.window, weight.row, 0, weight.column, start)


def _first_column(matrix: Matrix) -> str:
    """The tile's first column as a factor of its stride, with which it may be past 32 bits."""
    return "first_column" if matrix.column <= 1 else "static_cast<long long>(first_column)"


def bias_address(problem: LinearProblem, *, from_first_column: bool) -> str:
    """The address of the bias of a tile's first row, and of its first column where that is asked for."""
    bias = problem.bias
    if bias is None:
        return f"static_cast<const {STORAGE_TYPES[problem.dtype]}*>(nullptr)"
    start = offset_by(bias.window.start, ("first_row", bias.row))
    return offset_by(start, (_first_column(bias), bias.column)) if from_first_column else start


def x_pack(part: Part) -> int:
    """How many neighbouring k of a part of x may move together."""
    matrix = part.matrix
    return matrix.window.pack(part.width, (matrix.row,)) if matrix.column == 1 else 1


def weight_pack(problem: LinearProblem, part: Part, first_k: int) -> int:
    """How many neighbouring k of the weights of a part of x, which start at first_k, may move together."""
    weight = problem.weight
    pack = weight.window.pack(part.width, (weight.row,)) if weight.column == 1 else 1
    while first_k % pack:
        pack //= 2
    return pack
