"""The `pairwise_dot` kernel: dot products of pairs of features, a tile of rows at a time.

The features are copied to shared memory, each thread computes blocks of dots (PairwiseDot of
pairwise_dot.cuh), and the results pass through shared memory too where they fit, so that they are written in
order.

The constants of the emitted struct are those that pairwise_dot.cuh names; Element is the storage type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.sizes import (
    Constant,
    constants_struct,
    odd_packs,
    power_of_two_at_least,
    round_up,
)
from dlrmc.codegen.kernels.tile_text import call, indented, offset_by, shared_memory, tile_rows
from dlrmc.codegen.kernels.windows import Window, Windows, find_anchor, tile_view
from dlrmc.codegen.scalar_types import COMPUTE_TYPES, STORAGE_TYPES
from dlrmc.codegen.signature import Signature, build_signature, ir_comment
from dlrmc.codegen.source import KernelContext, KernelSource
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import many
from dlrmc.ir.ops.interaction import PAIRS
from dlrmc.schedule.limits import DeviceLimits

PAIR_OPS = ("pairwise_dot",)
WARP_LANES = 32
LARGEST_BLOCK = 256
# A tile grows until it has so many items, as long as every multiprocessor has a tile.
WANTED_ITEMS = 128
LARGEST_ROWS = 32
# So that several blocks share a multiprocessor.
WANTED_SHARED_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class PairTile:
    """Sizes of a tile, in rows and in elements of the compute type.

    Args:
        rows: rows of a tile.
        block: features on a side of a thread's block of dots.
        feature_stride: from one feature to the next.
        row_stride: from one row of features to the next.
        result_stride: from one row of results to the next; 0 where they are not kept in shared memory.
        threads: of a block.
        shared_bytes: of a block.
    """

    rows: int
    block: int
    feature_stride: int
    row_stride: int
    result_stride: int
    threads: int
    shared_bytes: int


class PairwiseDot(KernelImpl):
    """Body: one pairwise_dot over strided views of the operands."""

    name = "pairwise_dot"

    def check(self, body: Graph) -> None:
        find_anchor(self, body, PAIR_OPS)

    def emit(self, kernel: Node, context: KernelContext) -> KernelSource:
        anchor = find_anchor(self, kernel.body, PAIR_OPS)
        signature = build_signature(kernel.body, context, has_faults=False)
        windows = Windows(self, kernel.body, context, signature)
        parts = [windows.operand(part) for part in many(anchor.operands[0])]
        attributes = kernel.attributes
        tile = choose_pair_tile(
            anchor, context.limits, rows=attributes.int("rows"), threads=attributes.int("threads")
        )
        lines = _emit(anchor, parts, windows.result(anchor), tile, (context.name, signature))
        return KernelSource(
            context.name,
            "\n".join([ir_comment(kernel), *lines]),
            ("pairwise_dot.cuh",),
            -(-anchor.shape[0] // tile.rows),
            tile.threads,
            tile.shared_bytes,
            signature.params,
        )


def feature_count(anchor: Node) -> int:
    """How many features the parts hold together."""
    return sum(1 if part.type.rank == 2 else part.shape[1] for part in many(anchor.operands[0]))


def choose_pair_tile(anchor: Node, limits: DeviceLimits, rows: int = 0, threads: int = 0) -> PairTile:
    """Rows for WANTED_ITEMS blocks of dots a tile, but no fewer tiles than multiprocessors.

    Args:
        anchor: the pairwise_dot.
        limits: of the device.
        rows: the wanted rows of a tile; 0 for any.
        threads: the wanted threads of a block; 0 for any.

    Raises:
        CodegenError: where not even one row, or not `rows` rows, fit into shared memory.
    """
    batch, features = anchor.shape[0], feature_count(anchor)
    block = 4 if features >= 8 else min(2, features)
    blocks = -(-features // block) * (-(-features // block) + 1) // 2
    height = rows or 1
    while not rows and height < LARGEST_ROWS and height * blocks < WANTED_ITEMS:
        if -(-batch // (2 * height)) < limits.multiprocessors:
            break
        height *= 2
    while True:
        tile = _pair_tile(anchor, height, block, threads, limits.shared_bytes_per_block)
        is_shrinkable = not rows and height > 1
        if tile.shared_bytes <= (WANTED_SHARED_BYTES if is_shrinkable else limits.shared_bytes_per_block):
            return tile
        if rows or height == 1:
            raise CodegenError(
                f"pairwise_dot of {features} features of {many(anchor.operands[0])[0].shape[-1]}",
                found=f"{tile.shared_bytes} bytes of shared memory for {height} rows",
                expected=f"at most {limits.shared_bytes_per_block}",
                hint="give the kernel fewer rows, or fewer or narrower features",
            )
        height //= 2


def _pair_tile(anchor: Node, rows: int, block: int, threads: int, limit_bytes: int) -> PairTile:
    features, width = feature_count(anchor), many(anchor.operands[0])[0].shape[-1]
    compute_bytes = max(anchor.type.dtype.size_bytes, 4)
    feature_stride = odd_packs(width)
    row_stride = odd_packs(round_up(features, block) * feature_stride)
    result_stride = round_up(anchor.shape[1], 4)
    shared_bytes = rows * (row_stride + result_stride) * compute_bytes
    if shared_bytes > limit_bytes:
        result_stride, shared_bytes = 0, rows * row_stride * compute_bytes
    side = -(-features // block)
    items = rows * max(side * (side + 1) // 2, features * width // 8)
    wanted = min(max(power_of_two_at_least(items), WARP_LANES), LARGEST_BLOCK)
    return PairTile(rows, block, feature_stride, row_stride, result_stride, threads or wanted, shared_bytes)


def _emit(
    anchor: Node, parts: Sequence[Window], z: Window, tile: PairTile, head: tuple[str, Signature]
) -> list[str]:
    name, signature = head
    dtype, width = anchor.type.dtype, parts[0].shape[-1]
    compute_type = COMPUTE_TYPES[dtype]
    types = {"Element": STORAGE_TYPES[dtype]}
    return [
        *constants_struct(f"{name}_sizes", types, _constants(anchor, width, tile)),
        signature.head(name, tile.threads),
        *indented(
            [
                *shared_memory(compute_type),
                *signature.slot_reads,
                *tile_rows(anchor.shape[0], tile.rows),
                *_load_parts(parts, tile, compute_type),
                "__syncthreads();",
                *_compute(name, z, tile, compute_type),
            ]
        ),
        "}",
    ]


def _constants(anchor: Node, width: int, tile: PairTile) -> dict[str, Constant]:
    pairs = anchor.attributes.str("pairs")
    assert pairs in PAIRS
    return {
        "F": feature_count(anchor),
        "D_PADDED": round_up(width, 4),
        "X_ROW": tile.row_stride,
        "X_FEATURE": tile.feature_stride,
        "BLOCK": tile.block,
        "LOWER": pairs.endswith("lower"),
        "DIAGONAL": not pairs.startswith("strict"),
    }


def _load_parts(parts: Sequence[Window], tile: PairTile, compute_type: str) -> list[str]:
    lines: list[str] = []
    feature, width = 0, parts[0].shape[-1]
    features = sum(1 if len(part.shape) == 2 else part.shape[1] for part in parts)
    shared = f"TileView<{compute_type}, {tile.row_stride}, {tile.feature_stride}>"
    for part in parts:
        count = 1 if len(part.shape) == 2 else part.shape[1]
        row, inner, column = part.strides[0], part.strides[1] if len(part.shape) == 3 else 0, part.strides[-1]
        pack = part.pack(width, (row, inner)) if column == 1 else 1
        start = offset_by(part.start, ("first_row", row))
        to = f"{shared}{{{offset_by('shared', (str(feature), tile.feature_stride))}}}"
        lines += call(
            f"load_tile<{pack}>",
            f"TileSize<{tile.rows}, {count}, {width}>()",
            tile_view(part, row, inner, column, start),
            to,
            "rows",
            "threadIdx.x",
            str(tile.threads),
        )
        feature += count
    if width % 4:
        zero = f"zero_columns<{tile.rows}, {features}, {width}, {round_up(width, 4)}>"
        lines += call(zero, f"{shared}{{shared}}", "threadIdx.x", str(tile.threads))
    return lines


def _compute(name: str, z: Window, tile: PairTile, compute_type: str) -> list[str]:
    row, column = z.strides
    to = tile_view(z, row, 0, column, offset_by(z.start, ("first_row", row)))
    run, tail = f"PairwiseDot<{name}_sizes>::run", ("rows", "threadIdx.x", str(tile.threads))
    if not tile.result_stride:
        return call(run, "shared", to, *tail)
    staged = f"TileView<{compute_type}, {tile.result_stride}>{{shared + {tile.rows * tile.row_stride}}}"
    pack = z.pack(z.shape[1], (row,)) if column == 1 else 1
    size = f"TileSize<{tile.rows}, 1, {z.shape[1]}>()"
    return [
        *call(run, "shared", staged, *tail),
        "__syncthreads();",
        *call(f"store_tile<{pack}>", size, staged, to, *tail),
    ]
