"""The `linear` kernel: y = act(alpha * x @ w.T + beta * bias) for x in one or more parts, and an epilogue.

Three forms, chosen by `choose_tile`: a tile of rows held whole in shared memory (LinearRows of linear.cuh,
also a stage of row programs), and, for large products, both operands in chunks (TiledProduct of
tiled_product.cuh), for f32 on tensor cores (linear_tensor.py).

The constants of the emitted struct, beside those that the .cuh files name:
    Element                     storage type of x, w, bias and y
    N, K                        columns of y; depth, of all parts together
    W_COLUMN, W_K, W_VECTOR     strides of w in elements; how many weights move together
    HAS_BIAS, BIAS_ROW, BIAS_COLUMN, ALPHA, BETA, activation
    Y_VECTOR                    how many results move together
    UNROLL                      steps of 4 k whose weights are loaded together
"""

from __future__ import annotations

from dataclasses import replace

from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.linear_choice import choose_tile
from dlrmc.codegen.kernels.linear_epilogue import epilogue_of, find_product
from dlrmc.codegen.kernels.linear_problem import LINEAR_OPS, LinearProblem, linear_problem
from dlrmc.codegen.kernels.linear_tensor import (
    TENSOR_PRODUCT_INCLUDES,
    TENSOR_PRODUCTS,
    copies_of,
    emit_tensor_product,
    fits_tensor_cores,
)
from dlrmc.codegen.kernels.linear_text import (
    activation_function,
    bias_address,
    epilogue_operands,
    from_first_row,
    shared_constants,
    tile_of_y,
    tile_place,
    weight_pack,
    weights_of_part,
    x_pack,
)
from dlrmc.codegen.kernels.linear_tile import (
    LinearShape,
    LinearTile,
    ProductTile,
    RowsTile,
    TensorProductTile,
    WarpgroupTile,
)
from dlrmc.codegen.kernels.linear_warpgroup import (
    WARPGROUP_INCLUDES,
    describe_rounding,
    emit_warpgroup_product,
    fits_warpgroups,
)
from dlrmc.codegen.kernels.sizes import Constant, constants_struct, round_up
from dlrmc.codegen.kernels.tile_text import call, indented, shared_memory, tile_rows
from dlrmc.codegen.kernels.windows import Windows
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.codegen.signature import Signature, build_signature, ir_comment
from dlrmc.codegen.source import KernelContext, KernelSource
from dlrmc.ir.graph import Graph, Node

INCLUDES = ("linear.cuh", "tiled_product.cuh")


class Linear(KernelImpl):
    """Body: one linear, mm or addmm over strided views of the operands; rows of x and y of one stride.

    Elementwise ops may follow, up to one result, with operands that broadcast to the product.
    """

    name = "linear"

    def check(self, body: Graph) -> None:
        find_product(self, body, LINEAR_OPS)

    def emit(self, kernel: Node, context: KernelContext) -> KernelSource:
        return emit_linear(self, kernel, context)


def emit_linear(impl: KernelImpl, kernel: Node, context: KernelContext) -> KernelSource:
    """The source of a kernel whose anchor is a linear, mm or addmm.

    Raises:
        CodegenError: where the body does not fit `impl`.
    """
    product = find_product(impl, kernel.body, LINEAR_OPS)
    signature = build_signature(kernel.body, context, has_faults=False)
    windows = Windows(impl, kernel.body, context, signature)
    epilogue = epilogue_of(impl, kernel.body, product, windows, context)
    problem = replace(linear_problem(impl, product, windows), epilogue=epilogue)
    shape = linear_shape(problem, context.precision)
    tile = choose_tile(
        shape,
        context.limits,
        rows=kernel.attributes.int("rows"),
        threads=kernel.attributes.int("threads"),
    )
    lines = _emit(problem, tile, signature, context)
    return KernelSource(
        context.name,
        "\n".join([ir_comment(kernel), *lines]),
        _includes(tile),
        tile.blocks(shape),
        tile.threads,
        tile.shared_bytes(shape),
        signature.params,
        tensor_products=_tensor_products(problem, tile, signature, context),
        tf32_factors=_tf32_factors(problem, tile, signature, context),
    )


def _tf32_factors(
    problem: LinearProblem, tile: LinearTile, signature: Signature, context: KernelContext
) -> tuple[int, ...]:
    """The operands that WarpgroupProduct would round; others are rounded on their way into registers."""
    if not _reads_tf32(tile, context):
        return ()
    pointers = {problem.weight.window.pointer, *(part.matrix.window.pointer for part in problem.parts)}
    others = (*problem.epilogue.operands, *([] if problem.bias is None else [problem.bias]))
    pointers.difference_update(matrix.window.pointer for matrix in others)
    return tuple(place for place, name in enumerate(signature.operand_names) if name in pointers)


def _reads_tf32(tile: LinearTile, context: KernelContext) -> bool:
    return isinstance(tile, WarpgroupTile) and context.precision == "tf32"


def _tensor_products(
    problem: LinearProblem, tile: LinearTile, signature: Signature, context: KernelContext
) -> str:
    """For the report; empty without tensor cores."""
    if not isinstance(tile, TensorProductTile | WarpgroupTile):
        return ""
    products = TENSOR_PRODUCTS[context.precision]
    if not _reads_tf32(tile, context):
        return products
    return f"{products} ({describe_rounding(problem, signature, context)})"


def _includes(tile: LinearTile) -> tuple[str, ...]:
    match tile:
        case WarpgroupTile():
            return WARPGROUP_INCLUDES
        case TensorProductTile():
            return TENSOR_PRODUCT_INCLUDES
        case _:
            return INCLUDES


def _emit(
    problem: LinearProblem, tile: LinearTile, signature: Signature, context: KernelContext
) -> list[str]:
    match tile:
        case RowsTile():
            return _emit_rows(problem, tile, context.name, signature)
        case ProductTile():
            return _emit_product(problem, tile, context.name, signature)
        case TensorProductTile():
            return emit_tensor_product(problem, tile, context.name, signature, context.precision)
        case WarpgroupTile():
            return emit_warpgroup_product(problem, tile, signature, context)


def linear_shape(problem: LinearProblem, precision: str = "fp32") -> LinearShape:
    """What the choice of a tile depends on; `precision` is that of products on tensor cores."""
    compute_bytes = max(problem.dtype.size_bytes, 4)
    return LinearShape(
        problem.rows,
        problem.n,
        problem.k,
        problem.dtype.size_bytes,
        compute_bytes,
        weights_along_k=problem.weight.column == 1,
        parts=len(problem.parts),
        copies=copies_of(problem),
        precision=precision,
        fits_tensor_cores=fits_tensor_cores(problem),
        fits_warpgroups=fits_warpgroups(problem, precision),
    )


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


def _emit_rows(problem: LinearProblem, tile: RowsTile, name: str, signature: Signature) -> list[str]:
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
    struct = _struct(name, problem, rows_constants(problem, tile))
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


def _emit_product(problem: LinearProblem, tile: ProductTile, name: str, signature: Signature) -> list[str]:
    bias = bias_address(problem, from_first_column=True)
    operands = epilogue_operands(problem, 1, from_first_column=True)
    body = [
        *shared_memory(problem.compute_type),
        *signature.slot_reads,
        *tile_place(problem, tile.rows, tile.columns),
        f"TiledProduct<{name}_sizes> product(shared, threadIdx.x);",
        *_add_parts(problem),
        *call(
            "product.store",
            tile_of_y(problem),
            "rows",
            "columns",
            f"linear_finish<{name}_sizes>({bias}, {operands})",
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
    first_k = 0
    for part in problem.parts:
        # Chunks move in packs of 4 or one by one.
        packs = ", ".join(
            "4" if pack == 4 else "1" for pack in (x_pack(part), weight_pack(problem, part, first_k))
        )
        lines += call(
            f"product.add<{part.width}, {packs}>",
            from_first_row(part.matrix),
            weights_of_part(problem, first_k),
            "rows",
            "columns",
        )
        first_k += part.width
    return lines


def _struct(name: str, problem: LinearProblem, constants: dict[str, Constant]) -> list[str]:
    types = {"Element": STORAGE_TYPES[problem.dtype]}
    return constants_struct(f"{name}_sizes", types, constants, activation_function(problem))
