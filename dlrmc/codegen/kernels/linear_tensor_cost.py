"""The estimated time of a linear kernel on tensor cores, in cycles of a multiprocessor."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from dlrmc.codegen.kernels.linear_tile import SLAB_DEPTH, WARP_LANES, LinearShape, TensorProductTile
from dlrmc.codegen.kernels.multiprocessor import (
    BARRIER,
    BLOCK_START,
    L2_BYTES_PER_CYCLE,
    L2_LATENCY,
    LINE_BYTES,
    SCHEDULERS,
    resident_blocks,
)
from dlrmc.schedule.limits import DeviceLimits

# Cycles of one tensor core for one mma.sync, of 1024 multiply-adds of TF32 or 2048 of bf16: about five
# eighths of Hopper's peak, which only wgmma reaches (docs/decisions/0013-large-products.md).
_PRODUCT_CYCLES = 11
# Of the instructions beside the products, what the tensor cores wait for.
_EXPOSED = 0.15
_EXCHANGE = 400


@dataclass(frozen=True, slots=True)
class _Precision:
    """Instructions of one slab: for each fragment of results, each value read, each sum added outside."""

    products: int
    split: float
    adds: int


_PRECISIONS = MappingProxyType(
    {"fp32": _Precision(6, 3, 1), "tf32": _Precision(2, 1, 0), "bf16": _Precision(1, 0.5, 0)}
)


def tensor_product_cycles(tile: TensorProductTile, shape: LinearShape, limits: DeviceLimits) -> float:
    """The estimated time of the whole kernel in cycles of a multiprocessor."""
    stage = tile.stage_slabs * _slab_cycles(tile, shape)
    resident = resident_blocks(tile.threads, tile.shared_bytes(shape), _registers(tile), limits)
    blocks = -(-tile.blocks(shape) // limits.multiprocessors)
    together = min(resident, blocks)
    # While one stage is computed with, the others of the pipeline are on their way.
    round_cycles = max(together * stage, L2_LATENCY / (tile.stages - 1)) + BARRIER
    results = tile.rows * tile.columns / tile.threads
    finish = L2_LATENCY + 12 * results * tile.threads / WARP_LANES / SCHEDULERS
    finish += _EXCHANGE if tile.warps[2] > 1 else 0
    start = BLOCK_START + L2_LATENCY
    return -(-blocks // together) * (start + tile.steps(shape) * round_cycles + together * finish)


def _slab_cycles(tile: TensorProductTile, shape: LinearShape) -> float:
    """Cycles of a multiprocessor for one slab of a tile."""
    row_tiles, column_tiles = tile.fragments
    warps = tile.warps[0] * tile.warps[1]
    precision = _PRECISIONS[shape.precision]
    products = precision.products * row_tiles * column_tiles
    loads = 2 * row_tiles + column_tiles
    issued = (
        products + 4 * loads * precision.split + 4 * row_tiles * column_tiles * precision.adds + loads + 12
    )
    packs = tile.rows * shape.copies[0] + tile.columns * shape.copies[1]
    copies = packs * (SLAB_DEPTH // 4) / WARP_LANES
    on_schedulers = (warps * issued + 2 * copies) / SCHEDULERS
    on_tensor_cores = warps * products * _PRODUCT_CYCLES / SCHEDULERS
    bytes_copied = (tile.rows + tile.columns) * SLAB_DEPTH * shape.element_bytes
    wavefronts = 4 * warps * loads + bytes_copied / LINE_BYTES + copies
    busy = max(on_tensor_cores + _EXPOSED * on_schedulers, on_schedulers, wavefronts)
    return max(busy, bytes_copied / L2_BYTES_PER_CYCLE)


def _registers(tile: TensorProductTile) -> int:
    row_tiles, column_tiles = tile.fragments
    return 64 + 4 * row_tiles * column_tiles + 16 * column_tiles
