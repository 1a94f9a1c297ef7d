"""The linear kernel on tensor cores (TensorProduct of tensor_product.cuh), for large products of f32.

The constants of the emitted struct, beside those of every linear kernel (linear.py) and those that the .cuh
file names: TILE_ROWS, TILE_COLUMNS, WARPS_OVER_ROWS, WARPS_OVER_COLUMNS, WARPS_OVER_K, SLABS, STAGES.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from dlrmc.codegen.kernels.linear_problem import LinearProblem, Matrix, Part
from dlrmc.codegen.kernels.linear_text import (
    bias_address,
    epilogue_operands,
    from_first_row,
    linear_struct,
    shared_constants,
    tile_of_y,
    tile_place,
    weights_of_part,
)
from dlrmc.codegen.kernels.linear_tile import TensorProductTile, WarpgroupTile
from dlrmc.codegen.kernels.sizes import Constant
from dlrmc.codegen.kernels.tile_text import call, indented, shared_memory
from dlrmc.codegen.kernels.windows import LARGEST_PACK
from dlrmc.codegen.signature import Signature
from dlrmc.ir.types import DType

TENSOR_PRODUCT_INCLUDES = ("tensor_product.cuh",)
# How a product is made of what tensor cores offer, by the option `precision`: tensor_fragments.cuh.
PRODUCTS = MappingProxyType({"fp32": "ThreeTf32", "tf32": "OneTf32", "bf16": "OneBf16"})
# The same in words.
TENSOR_PRODUCTS = MappingProxyType(
    {"fp32": "three TF32 products", "tf32": "one TF32 product", "bf16": "one bf16 product"}
)
# Neighbouring results of a lane.
COLUMNS_OF_LANE = 2
# Every part of x brings its own text for its copies.
_MOST_PARTS = 6


def fits_tensor_cores(problem: LinearProblem) -> bool:
    """Whether TensorProduct can compute it: f32, the k of x and of w contiguous, not too many parts."""
    is_along_k = problem.weight.column == 1 and all(part.matrix.column == 1 for part in problem.parts)
    return problem.dtype is DType.F32 and is_along_k and 0 < len(problem.parts) <= _MOST_PARTS


def copies_of(problem: LinearProblem) -> tuple[int, int]:
    """What copying 4 k of a row of x and of a row of w takes, in instructions, averaged over the parts."""
    first_k, x_copies, w_copies = 0, 0, 0
    for part in problem.parts:
        x_pack, w_pack = _packs(problem, part, first_k)
        x_copies += part.width * (4 // x_pack)
        w_copies += part.width * (4 // w_pack)
        first_k += part.width
    return -(-x_copies // max(first_k, 1)), -(-w_copies // max(first_k, 1))


def _packs(problem: LinearProblem, part: Part, first_k: int) -> tuple[int, int]:
    """How many neighbouring k of a part of x, and of its weights from `first_k` on, are copied together."""
    return (
        _slab_pack(part.matrix, part.width, 0),
        _slab_pack(problem.weight, part.width, first_k),
    )


def _slab_pack(matrix: Matrix, width: int, first_k: int) -> int:
    """As many as rows are aligned to: of a pack of 4 that crosses the end of a row, the rest is zero."""
    whole = matrix.window.pack(LARGEST_PACK, (matrix.row, first_k))
    return whole if whole == LARGEST_PACK else matrix.window.pack(width, (matrix.row, first_k))


def emit_tensor_product(
    problem: LinearProblem, tile: TensorProductTile, name: str, signature: Signature, precision: str
) -> list[str]:
    """The struct of constants and the kernel."""
    memory = shared_memory(problem.compute_type)
    struct = linear_struct(name, problem, _constants(problem, tile), PRODUCTS[precision])
    return [*struct, *product_kernel("TensorProduct", problem, tile, name, signature, memory)]


def product_kernel(
    product: str,
    problem: LinearProblem,
    tile: TensorProductTile | WarpgroupTile,
    name: str,
    signature: Signature,
    memory: Sequence[str],
) -> list[str]:
    """The kernel that runs a class of products, `product`, on one tile in the shared memory of `memory`."""
    body = [
        *memory,
        *signature.slot_reads,
        *tile_place(problem, tile.rows, tile.columns),
        f"{product}<{name}_sizes> product(threadIdx.x);",
        *call(
            "product.run",
            "shared",
            bias_address(problem, from_first_column=True),
            epilogue_operands(problem, COLUMNS_OF_LANE, from_first_column=True),
            tile_of_y(problem),
            "rows",
            "columns",
            *product_parts(problem),
        ),
    ]
    return [signature.head(name, tile.threads), *indented(body), "}"]


def _vector_constants(problem: LinearProblem) -> dict[str, Constant]:
    """How many neighbouring results, and biases of these, move together."""
    y, bias = problem.y, problem.bias
    widths = {"Y_VECTOR": 1, "BIAS_VECTOR": 1}
    if y.column == 1:
        widths["Y_VECTOR"] = y.window.pack(problem.n, (y.row,), COLUMNS_OF_LANE)
    if bias is not None and bias.column == 1:
        widths["BIAS_VECTOR"] = bias.window.pack(problem.n, (bias.row,), COLUMNS_OF_LANE)
    return dict(widths)


def tile_constants(problem: LinearProblem, tile: TensorProductTile | WarpgroupTile) -> dict[str, Constant]:
    """Of a kernel that works on tiles of results, whatever multiplies."""
    return (
        shared_constants(problem)
        | _vector_constants(problem)
        | {
            "TILE_ROWS": tile.rows,
            "TILE_COLUMNS": tile.columns,
            "STAGES": tile.stages,
            "ROWS_FIT": problem.rows % tile.rows == 0,
            "COLUMNS_FIT": problem.n % tile.columns == 0,
        }
    )


def _constants(problem: LinearProblem, tile: TensorProductTile) -> dict[str, Constant]:
    names = ("WARPS_OVER_ROWS", "WARPS_OVER_COLUMNS", "WARPS_OVER_K")
    warps = dict(zip(names, tile.warps, strict=True))
    return tile_constants(problem, tile) | warps | {"SLABS": tile.slabs}


def product_parts(problem: LinearProblem) -> list[str]:
    """The parts of x, each with its columns of w."""
    arguments: list[str] = []
    first_k = 0
    for part in problem.parts:
        x_pack, w_pack = _packs(problem, part, first_k)
        packs = f"{part.width}, {x_pack}, {w_pack}"
        views = f"{from_first_row(part.matrix)}, {weights_of_part(problem, first_k)}"
        arguments.append(f"product_part<{packs}>({views})")
        first_k += part.width
    return arguments
