"""The `bmm` kernel: a product of matrices for each entry of a batch, either side stored transposed; also mm.

Small matrices are copied to shared memory, several entries a block (BatchProduct of bmm.cuh, also a stage of
row programs); larger ones pass through it in chunks (TiledProduct of tiled_product.cuh). mm is a linear
kernel.

The constants of the emitted struct are those that the .cuh files name; Element is the storage type.
"""

from __future__ import annotations

from dlrmc.codegen.kernels.bmm_tile import BatchTile, BmmProblem, bmm_problem, choose_batch_tile
from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.linear import emit_linear
from dlrmc.codegen.kernels.linear_choice import choose_product_tile
from dlrmc.codegen.kernels.linear_tile import LinearShape, ProductTile
from dlrmc.codegen.kernels.sizes import Constant, constants_struct, round_up
from dlrmc.codegen.kernels.tile_text import call, indented, offset_by, shared_memory, tile_rows
from dlrmc.codegen.kernels.windows import Window, Windows, find_anchor, tile_view
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.codegen.signature import Signature, build_signature, ir_comment
from dlrmc.codegen.source import KernelContext, KernelSource
from dlrmc.ir.graph import Graph, Node


class Bmm(KernelImpl):
    """Body: one bmm or mm over strided views of the operands."""

    name = "bmm"

    def check(self, body: Graph) -> None:
        find_anchor(self, body, ("bmm", "mm"))

    def emit(self, kernel: Node, context: KernelContext) -> KernelSource:
        anchor = find_anchor(self, kernel.body, ("bmm", "mm"))
        if anchor.is_op("mm"):
            return emit_linear(self, kernel, context)
        signature = build_signature(kernel.body, context, has_faults=False)
        problem = bmm_problem(anchor, Windows(self, kernel.body, context, signature))
        rows, threads = kernel.attributes.int("rows"), kernel.attributes.int("threads")
        tile = choose_batch_tile(problem, context.limits, rows, threads)
        if tile is None:
            shape = (problem.m, problem.n, problem.k, problem.c.dtype.size_bytes, problem.compute_bytes)
            product = choose_product_tile(LinearShape(*shape, batch=problem.batch), context.limits)
            return _emit_product(kernel, problem, product, context.name, signature)
        return _emit_batch(kernel, problem, tile, context.name, signature)


def _emit_batch(
    kernel: Node, problem: BmmProblem, tile: BatchTile, name: str, signature: Signature
) -> KernelSource:
    constants: dict[str, Constant] = {
        "M": problem.m,
        "N": problem.n,
        "K_PADDED": round_up(problem.k, 4),
        "A_ROW": tile.a_row,
        "A_ITEM": tile.a_item,
        "B_ROW": tile.b_row,
        "B_ITEM": tile.b_item,
        "BLOCK_M": tile.block_m,
        "BLOCK_N": tile.block_n,
    }
    b_start = tile.rows * tile.a_row
    c_start = b_start + tile.rows * tile.b_row
    lines = [
        *constants_struct(f"{name}_sizes", {"Element": STORAGE_TYPES[problem.c.dtype]}, constants),
        signature.head(name, tile.threads),
        *indented(
            [
                *shared_memory(problem.compute_type),
                *signature.slot_reads,
                *tile_rows(problem.batch, tile.rows),
                *_load(problem, tile, problem.a, 0, (tile.a_row, tile.a_item)),
                *_load(problem, tile, problem.b, b_start, (tile.b_row, tile.b_item)),
                "__syncthreads();",
                *_compute(name, problem, tile, b_start, c_start),
            ]
        ),
        "}",
    ]
    return KernelSource(
        name,
        "\n".join([ir_comment(kernel), *lines]),
        ("bmm.cuh",),
        -(-problem.batch // tile.rows),
        tile.threads,
        tile.elements * problem.compute_bytes,
        signature.params,
    )


def _load(
    problem: BmmProblem, tile: BatchTile, window: Window, start: int, strides: tuple[int, int]
) -> list[str]:
    """The copy of one operand into shared memory, padded along k with zeros."""
    row, item, column = window.strides
    items = window.shape[1]
    pack = window.pack(problem.k, (row, item)) if column == 1 else 1
    to = f"TileView<{problem.compute_type}, {strides[0]}, {strides[1]}>{{shared + {start}}}"
    lines = call(
        f"load_tile<{pack}>",
        f"TileSize<{tile.rows}, {items}, {problem.k}>()",
        tile_view(window, row, item, column, offset_by(window.start, ("first_row", row))),
        to,
        "rows",
        "threadIdx.x",
        str(tile.threads),
    )
    padded = round_up(problem.k, 4)
    if padded != problem.k:
        zero = f"zero_columns<{tile.rows}, {items}, {problem.k}, {padded}>"
        lines += call(zero, to, "threadIdx.x", str(tile.threads))
    return lines


def _compute(name: str, problem: BmmProblem, tile: BatchTile, b_start: int, c_start: int) -> list[str]:
    """The products into shared memory, then out in order."""
    row, item, column = problem.c.strides
    tail = ("rows", "threadIdx.x", str(tile.threads))
    staged = f"TileView<{problem.compute_type}, {tile.c_row}, {problem.n}>{{shared + {c_start}}}"
    to = tile_view(problem.c, row, item, column, offset_by(problem.c.start, ("first_row", row)))
    pack = problem.c.pack(problem.n, (row, item)) if column == 1 else 1
    return [
        *call(f"BatchProduct<{name}_sizes>::run", "shared", f"shared + {b_start}", staged, *tail),
        "__syncthreads();",
        *call(f"store_tile<{pack}>", f"TileSize<{tile.rows}, {problem.m}, {problem.n}>()", staged, to, *tail),
    ]


def _emit_product(
    kernel: Node, problem: BmmProblem, tile: ProductTile, name: str, signature: Signature
) -> KernelSource:
    constants: dict[str, Constant] = {
        "TILE_ROWS": tile.rows,
        "TILE_COLUMNS": tile.columns,
        "TILE_K": tile.k,
        "ROWS_PER_THREAD": tile.rows_per_thread,
        "COLUMNS_PER_THREAD": tile.columns_per_thread,
    }
    lines = [
        *constants_struct(f"{name}_sizes", {"Element": STORAGE_TYPES[problem.c.dtype]}, constants),
        signature.head(name, tile.threads),
        *indented(_product_body(problem, tile, name, signature)),
        "}",
    ]
    shape = LinearShape(problem.m, problem.n, problem.k, 0, problem.compute_bytes, batch=problem.batch)
    return KernelSource(
        name,
        "\n".join([ir_comment(kernel), *lines]),
        ("bmm.cuh", "tiled_product.cuh"),
        tile.blocks(shape),
        tile.threads,
        tile.shared_bytes(shape),
        signature.params,
    )


def _product_body(problem: BmmProblem, tile: ProductTile, name: str, signature: Signature) -> list[str]:
    column_blocks, row_blocks = -(-problem.n // tile.columns), -(-problem.m // tile.rows)
    c_terms = zip(("entry", "first_row", "first_column"), problem.c.strides, strict=True)
    c_place = offset_by(problem.c.start, *c_terms)
    packs = [_chunk_pack(problem, window) for window in (problem.a, problem.b)]
    return [
        *shared_memory(problem.compute_type),
        *signature.slot_reads,
        f"const int first_column = blockIdx.x % {column_blocks} * {tile.columns};",
        f"const int columns = min({tile.columns}, {problem.n} - first_column);",
        f"const long long entry = blockIdx.x / {column_blocks * row_blocks};",
        *tile_rows(problem.m, tile.rows, f"blockIdx.x / {column_blocks} % {row_blocks}"),
        f"TiledProduct<{name}_sizes> product(shared, threadIdx.x);",
        *call(
            f"product.add<{problem.k}, {packs[0]}, {packs[1]}>",
            _chunk_view(problem.a, "first_row"),
            _chunk_view(problem.b, "static_cast<long long>(first_column)"),
            "rows",
            "columns",
        ),
        *call(
            "product.store",
            tile_view(problem.c, problem.c.strides[1], 0, problem.c.strides[2], c_place),
            "rows",
            "columns",
            "PlainFinish()",
        ),
    ]


def _chunk_pack(problem: BmmProblem, window: Window) -> int:
    is_packed = window.strides[2] == 1 and window.pack(problem.k, window.strides[:2]) == 4
    return 4 if is_packed else 1


def _chunk_view(window: Window, first: str) -> str:
    """One entry's operand from a row on, as ChunkLoad reads it."""
    entry, outer, k = window.strides
    return tile_view(window, outer, 0, k, offset_by(window.start, ("entry", entry), (first, outer)))
