"""The linear kernel by warpgroups (WarpgroupProduct of warpgroup_product.cuh), for large products of f32.

The constants of the emitted struct, beside those of every linear kernel (linear.py): TILE_ROWS, TILE_COLUMNS,
STAGES, WARPGROUPS_OVER_K, ROUND_X and ROUND_W.
"""

from __future__ import annotations

from dlrmc.codegen.kernels.linear_problem import LinearProblem
from dlrmc.codegen.kernels.linear_tensor import (
    PRODUCTS,
    copies_of,
    fits_tensor_cores,
    product_kernel,
    tile_constants,
)
from dlrmc.codegen.kernels.linear_text import linear_struct
from dlrmc.codegen.kernels.linear_tile import WarpgroupTile
from dlrmc.codegen.kernels.sizes import Constant
from dlrmc.codegen.kernels.tile_text import swizzled_shared_memory
from dlrmc.codegen.signature import Signature
from dlrmc.codegen.source import KernelContext

WARPGROUP_INCLUDES = ("warpgroup_product.cuh",)
_PRECISIONS = ("fp32", "tf32")


def fits_warpgroups(problem: LinearProblem, precision: str) -> bool:
    """Whether WarpgroupProduct can compute it: rows of x and w start at multiples of 16 bytes."""
    return fits_tensor_cores(problem) and copies_of(problem) == (1, 1) and precision in _PRECISIONS


def emit_warpgroup_product(
    problem: LinearProblem, tile: WarpgroupTile, signature: Signature, context: KernelContext
) -> list[str]:
    """The struct of constants and the kernel."""
    name, precision = context.name, context.precision
    rounding = _rounding(problem, signature, context) if precision == "tf32" else (False, False)
    constants = _constants(problem, tile) | {"ROUND_X": rounding[0], "ROUND_W": rounding[1]}
    memory = swizzled_shared_memory(problem.compute_type)
    struct = linear_struct(name, problem, constants, PRODUCTS[precision])
    lines = [*struct, *product_kernel("WarpgroupProduct", problem, tile, name, signature, memory)]
    if precision == "tf32":
        lines.insert(0, f"// To TF32, {describe_rounding(problem, signature, context)}.")
    return lines


def _rounding(problem: LinearProblem, signature: Signature, context: KernelContext) -> tuple[bool, bool]:
    """Whether the kernel must round x, and w, since their values may not be TF32 numbers."""
    is_tf32 = dict(zip(signature.operand_names, context.tf32_operands, strict=False))
    rounds_x = not all(is_tf32.get(part.matrix.window.pointer, False) for part in problem.parts)
    return rounds_x, not is_tf32.get(problem.weight.window.pointer, False)


def describe_rounding(problem: LinearProblem, signature: Signature, context: KernelContext) -> str:
    """Who rounds the factors of TF32 products, in words."""
    rounds_x, rounds_w = _rounding(problem, signature, context)
    x, w = "here" if rounds_x else "by its writer", "here" if rounds_w else "at load"
    return f"x is rounded {x}, w {w}"


def _constants(problem: LinearProblem, tile: WarpgroupTile) -> dict[str, Constant]:
    return tile_constants(problem, tile) | {"WARPGROUPS_OVER_K": tile.over_k}
