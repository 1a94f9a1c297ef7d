"""How tall the tiles of a row program are, and the layout of one."""

from __future__ import annotations

from dataclasses import dataclass

from dlrmc.codegen.rows.layout import Layout, anchor_of
from dlrmc.codegen.rows.planner import lay_out
from dlrmc.codegen.rows.tf32_values import take_roundings
from dlrmc.codegen.rows.weight_tiles import weight_shape
from dlrmc.codegen.source import KernelContext
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType
from dlrmc.passes.attention import form_attention
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.schedule.limits import DeviceLimits
from dlrmc.schedule.row_tiles import Tile, cut_tile

TALLEST_TILE = 16
# Tiles are not made lower than this for their weights' sake.
LOWEST_WITH_WEIGHTS = 4


@dataclass(frozen=True)
class TilePlan:
    """A tile and its layout.

    Args:
        tile: after form-kernels.
        layout: of it.
        rounded: for each result, whether it is rounded to TF32 as it is stored.
        grid: blocks.
    """

    tile: Tile
    layout: Layout
    rounded: tuple[bool, ...]
    grid: int

    @property
    def is_persistent(self) -> bool:
        """Whether a block works on several tiles."""
        return self.tile.count > self.grid

    @property
    def keeps_all_weights(self) -> bool:
        """Whether the weights of all layers stand in shared memory."""
        return all(layer in self.layout.weights for layer in self._layers)

    @property
    def weight_bytes(self) -> int:
        """What the weights of all layers take in shared memory."""
        elements = sum(weight_shape(anchor_of(layer)).elements for layer in self._layers)
        return elements * DType.F32.size_bytes

    @property
    def _layers(self) -> list[Node]:
        return [stage for stage in self.layout.phases if anchor_of(stage).is_op("linear")]


def plan_tile(kernel: Node, context: KernelContext, threads: int) -> TilePlan:
    """The plan of the height that the kernel names, or of the best one.

    That is the height of choose_rows, halved until the tile fits into shared memory. Where sums of slices of
    k keep it from fitting, layers do without slices. A block that works on several tiles has lower ones where
    then, and only then, it can keep all weights: measured, a quarter less time.

    Raises:
        CodegenError: where a tile of one row, or of the named height, does not fit.
    """
    named = kernel.attributes.int("rows")
    rows = named or choose_rows(kernel, context.limits)
    while True:
        plan = _plan(kernel, context, rows, threads)
        if plan.layout.shared_bytes <= context.limits.shared_bytes_per_block:
            break
        if rows == 1 or named:
            raise CodegenError(
                f"row program %{kernel.name}",
                found=f"{plan.layout.shared_bytes} bytes of shared memory for {rows} rows",
                expected=f"at most {context.limits.shared_bytes_per_block}",
                hint="split the program",
            )
        rows //= 2
    is_lowest = bool(named) or rows // 2 < LOWEST_WITH_WEIGHTS
    is_hopeless = plan.weight_bytes > context.limits.shared_bytes_per_block
    if is_lowest or is_hopeless or not plan.is_persistent or plan.keeps_all_weights:
        return plan
    lower = _plan(kernel, context, rows // 2, threads)
    return lower if lower.keeps_all_weights else plan


def choose_rows(kernel: Node, limits: DeviceLimits) -> int:
    """Rows of a tile: the fewest, in powers of two, for which every multiprocessor has at most one tile."""
    batch, rows = kernel.attributes.int("batch"), 1
    while rows < TALLEST_TILE and -(-batch // rows) > limits.multiprocessors:
        rows *= 2
    return rows


def _plan(kernel: Node, context: KernelContext, rows: int, threads: int) -> TilePlan:
    """The plan of one height, whether it fits or not."""
    tile = cut_tile(kernel, rows)
    rounded = take_roundings(tile.graph)
    form_attention(tile.graph)
    form_kernels(tile.graph, as_stages=True)
    grid = min(tile.count, context.limits.multiprocessors)
    indirect = frozenset(
        node for node, operand in tile.operands.items() if context.indirect_operands[operand.operand]
    )
    limit_bytes = context.limits.shared_bytes_per_block
    is_persistent = tile.count > grid
    layout = lay_out(tile.graph, indirect, threads, limit_bytes, is_persistent=is_persistent)
    if layout.shared_bytes > limit_bytes and layout.scratch:
        layout = lay_out(
            tile.graph, indirect, threads, limit_bytes, is_persistent=is_persistent, slices_k=False
        )
    return TilePlan(tile, layout, rounded, grid)
