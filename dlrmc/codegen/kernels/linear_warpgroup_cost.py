"""The estimated time of a linear kernel by warpgroups, in cycles of a multiprocessor."""

from __future__ import annotations

from types import MappingProxyType

from dlrmc.codegen.kernels.linear_tile import WARPGROUP_DEPTH, LinearShape, WarpgroupTile
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
# A step takes this share of its products' time, and cycles, and no less than the way of its x through
# registers: fitted to measurements on an H200 (docs/decisions/0013-large-products.md).
_SHARE = MappingProxyType({"fp32": 1.35, "tf32": 0.75})
_STEP = MappingProxyType({"fp32": 100, "tf32": 170})
_LEAST_STEP = MappingProxyType({"fp32": 580, "tf32": 200})
# From L2, as measured with these tiles: more than multiprocessor.py has for kernels that copy less at once.
_L2_BYTES_PER_CYCLE = 48
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
    share, wait = _SHARE[shape.precision], _STEP[shape.precision]
    busy = max(share * together * on_tensor_cores + wait, together * on_tensor_cores)
    least = max(_LEAST_STEP[shape.precision], L2_LATENCY / (tile.stages - 1))
    step = max(busy, together * copied, least)
    finish = L2_LATENCY + 12 * tile.columns + (_EXCHANGE if tile.over_k > 1 else 0)
    return -(-blocks // together) * (BLOCK_START + L2_LATENCY + tile.steps(shape) * step + together * finish)
