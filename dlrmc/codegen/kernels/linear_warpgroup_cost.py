"""The estimated time of a linear kernel by warpgroups, in cycles of a multiprocessor."""

from __future__ import annotations

from types import MappingProxyType

from dlrmc.codegen.kernels.linear_tile import WARPGROUP_DEPTH, WARPGROUP_ROWS, LinearShape, WarpgroupTile
from dlrmc.codegen.kernels.multiprocessor import (
    BLOCK_START,
    L2_LATENCY,
    resident_blocks,
)
from dlrmc.schedule.limits import DeviceLimits

# Multiply-adds of TF32 in a cycle of a multiprocessor (NVIDIA H100 Tensor Core GPU Architecture), and the
# products that one of f32 takes.
_MULTIPLY_ADDS_PER_CYCLE = 1024
_PRODUCTS = MappingProxyType({"fp32": 3, "tf32": 1})
# Cycles of a step that nothing else fills: barrier, fragments, products, sums, one after the other. Fitted to
# measurements on an H200 (docs/decisions/0013-large-products.md).
_SPLIT_STEP = 540
_WHOLE_STEP = 215
# The share of their time on tensor cores that whole products take besides, and the fewest cycles of a step.
_WHOLE_SHARE = 0.75
_LEAST_STEP = 200
# From L2, as measured with these tiles: more than multiprocessor.py has for kernels that copy less at once.
_L2_BYTES_PER_CYCLE = 48
# Of one result, which is stored in rows of 32 bytes.
_STORE = 0.35
# Of the sums of warpgroups over k, through shared memory.
_EXCHANGE = 300
_REGISTERS = MappingProxyType({"fp32": 100, "tf32": 60})


def warpgroup_cycles(tile: WarpgroupTile, shape: LinearShape, limits: DeviceLimits) -> float:
    """The estimated time of the whole kernel in cycles of a multiprocessor."""
    products = _PRODUCTS[shape.precision]
    depth = WARPGROUP_DEPTH * tile.over_k
    on_tensor_cores = tile.rows * tile.columns * depth * products / _MULTIPLY_ADDS_PER_CYCLE
    copied = (tile.rows + tile.columns) * depth * shape.element_bytes / _L2_BYTES_PER_CYCLE
    sums = tile.columns // 2 * (2 if products > 1 else 1)
    registers = _REGISTERS[shape.precision] + sums
    resident = resident_blocks(tile.threads, tile.shared_bytes(shape), registers, limits)
    blocks = -(-tile.blocks(shape) // limits.multiprocessors)
    together = min(resident, blocks)
    if products > 1:
        busy = _SPLIT_STEP + together * max(_split_wavefronts(tile), on_tensor_cores)
    else:
        busy = max(_WHOLE_SHARE * together * on_tensor_cores + _WHOLE_STEP, together * on_tensor_cores)
    least = max(_LEAST_STEP, L2_LATENCY / (tile.stages - 1))
    step = max(busy, together * copied, least)
    finish = L2_LATENCY + _STORE * tile.rows * tile.columns + (_EXCHANGE if tile.over_k > 1 else 0)
    return -(-blocks // together) * (BLOCK_START + L2_LATENCY + tile.steps(shape) * step + together * finish)


def _split_wavefronts(tile: WarpgroupTile) -> float:
    """Cycles of shared memory for a step of split products: one for each row of a slab, of 128 bytes.

    A warpgroup reads w or its lower halves three times; x is written and read, w is too, and its lower halves
    are written.
    """
    reads = 3 * tile.columns * tile.rows // WARPGROUP_ROWS
    return tile.over_k * (reads + 2 * tile.rows + 3 * tile.columns)
