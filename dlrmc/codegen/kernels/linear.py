"""The `linear` kernel: y = act(alpha * x @ w.T + beta * bias) for x in one or more parts, and an epilogue.

Its forms, chosen by `choose_tile`: a tile of rows held whole in shared memory (linear_rows.py), and, for
large products, both operands in chunks (TiledProduct of tiled_product.cuh), for f32 on tensor cores
(linear_tensor.py, linear_warpgroup.py).

The constants of the emitted struct, beside those that the .cuh files name and those of one form alone, which
stand with it:
    Element                     storage type of x, w, bias and y
    N, K                        columns of y; depth, of all parts together
    HAS_BIAS, BIAS_ROW, BIAS_COLUMN, ALPHA, BETA, activation
    Y_VECTOR                    how many results move together
"""

from __future__ import annotations

from dataclasses import replace

from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.linear_choice import choose_tile, linear_shape
from dlrmc.codegen.kernels.linear_epilogue import epilogue_of, find_product
from dlrmc.codegen.kernels.linear_problem import LINEAR_OPS, LinearProblem, linear_problem
from dlrmc.codegen.kernels.linear_rows import emit_rows
from dlrmc.codegen.kernels.linear_tensor import (
    TENSOR_PRODUCT_INCLUDES,
    TENSOR_PRODUCTS,
    emit_tensor_product,
)
from dlrmc.codegen.kernels.linear_text import (
    bias_address,
    epilogue_operands,
    from_first_row,
    linear_struct,
    shared_constants,
    tile_of_y,
    tile_place,
    weight_pack,
    weights_of_part,
    x_pack,
)
from dlrmc.codegen.kernels.linear_tile import (
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
)
from dlrmc.codegen.kernels.tile_text import call, indented, shared_memory
from dlrmc.codegen.kernels.windows import Windows
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
            return emit_rows(problem, tile, context.name, signature)
        case ProductTile():
            return _emit_product(problem, tile, context.name, signature)
        case TensorProductTile():
            return emit_tensor_product(problem, tile, context.name, signature, context.precision)
        case WarpgroupTile():
            return emit_warpgroup_product(problem, tile, signature, context)


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
    struct = linear_struct(name, problem, constants)
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
