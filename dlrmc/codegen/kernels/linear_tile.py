"""The three forms of a linear kernel's tile, and their sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dlrmc.codegen.kernels.sizes import odd_packs

WARP_LANES = 32
# k of a slab of TensorProductTile.
SLAB_DEPTH = 16
# Of WarpgroupTile: k of a slab, and rows of a warpgroup.
WARPGROUP_DEPTH = 32
WARPGROUP_ROWS = 64
# Weights of 4 bytes that one lane loads ahead, and sums from which on half as many must do.
_WEIGHTS_AHEAD = 16
_MANY_SUMS = 32


@dataclass(frozen=True, slots=True)
class LinearShape:
    """What the choice depends on.

    Args:
        rows: rows of x and y.
        n: columns of y.
        k: depth.
        element_bytes: of a stored element.
        compute_bytes: of a sum.
        batch: how many such products there are.
        weights_along_k: whether the k of a weight row are contiguous.
        parts: how many parts x has.
        copies: what copying 4 k of a row of x and of a row of w takes, in instructions: 1 to 4 each.
        precision: of products on tensor cores: "fp32", "tf32" or "bf16".
        fits_tensor_cores: whether TensorProductTile can compute it.
        fits_warpgroups: whether WarpgroupTile can, on a device that has warpgroups.
    """

    rows: int
    n: int
    k: int
    element_bytes: int
    compute_bytes: int
    batch: int = 1
    weights_along_k: bool = True
    parts: int = 1
    copies: tuple[int, int] = (1, 1)
    precision: str = "fp32"
    fits_tensor_cores: bool = False
    fits_warpgroups: bool = False


@dataclass(frozen=True, slots=True)
class RowsTile:
    """A tile of `rows` rows held whole in shared memory, weights streamed from L2 (linear.cuh).

    A block computes `block_columns` columns; the other names are those of linear.cuh. `x_stride` in elements.
    """

    rows: int
    block_columns: int
    rows_per_lane: int
    columns_per_lane: int
    lanes_over_rows: int
    lanes_over_columns: int
    lanes_over_k: int
    threads: int
    x_stride: int

    @property
    def warp_rows(self) -> int:
        """Rows of a warp's block."""
        return self.rows_per_lane * self.lanes_over_rows

    @property
    def warp_columns(self) -> int:
        """Columns of a warp's block."""
        return self.columns_per_lane * self.lanes_over_columns

    @property
    def warp_blocks(self) -> int:
        """Blocks of warps in the tile."""
        return -(-self.rows // self.warp_rows) * -(-self.block_columns // self.warp_columns)

    def steps(self, k: int) -> int:
        """How often a lane reads a group of 4 k."""
        return -(-k // (4 * self.lanes_over_k))

    def shared_bytes(self, shape: LinearShape) -> int:
        """Bytes of the x tile."""
        return self.rows * self.x_stride * shape.compute_bytes

    def blocks(self, shape: LinearShape) -> int:
        """Blocks of the grid."""
        return -(-shape.rows // self.rows) * -(-shape.n // self.block_columns)

    def unroll(self, shape: LinearShape) -> int:
        """Steps whose weights are loaded together, one such batch ahead."""
        sums = self.rows_per_lane * self.columns_per_lane
        ahead = _WEIGHTS_AHEAD // 2 if sums >= _MANY_SUMS else _WEIGHTS_AHEAD
        wanted = ahead // (4 * self.columns_per_lane * (shape.compute_bytes // 4))
        return max(1, min(wanted, self.steps(shape.k)))


@dataclass(frozen=True, slots=True)
class ProductTile:
    """A tile of both operands passes through shared memory in chunks of `k` (tiled_product.cuh)."""

    rows: int
    columns: int
    k: int
    rows_per_thread: int
    columns_per_thread: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.rows // self.rows_per_thread) * (self.columns // self.columns_per_thread)

    def shared_bytes(self, shape: LinearShape) -> int:
        """Bytes of the two buffers."""
        return 2 * (self.rows + self.columns) * odd_packs(self.k) * shape.compute_bytes

    def blocks(self, shape: LinearShape) -> int:
        """Blocks of the grid."""
        return shape.batch * -(-shape.rows // self.rows) * -(-shape.n // self.columns)


@dataclass(frozen=True, slots=True)
class TensorProductTile:
    """Slabs of 16 k of both operands pass through shared memory into tensor cores (tensor_product.cuh).

    Args:
        rows: of the tile.
        columns: of the tile.
        warps: over rows, over columns, and over k.
        slabs: of one warp in one stage.
        stages: buffers for stages.
    """

    rows: int
    columns: int
    warps: tuple[int, int, int]
    slabs: int
    stages: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return math.prod(self.warps) * WARP_LANES

    @property
    def fragments(self) -> tuple[int, int]:
        """Tiles of 16 rows and tiles of 8 columns of one warp."""
        return self.rows // self.warps[0] // 16, self.columns // self.warps[1] // 8

    @property
    def stage_slabs(self) -> int:
        """Slabs of a stage, of all warps."""
        return self.slabs * self.warps[2]

    def steps(self, shape: LinearShape) -> int:
        """Stages that pass; every part of x starts a slab."""
        return -(-(-(-shape.k // SLAB_DEPTH) + shape.parts - 1) // self.stage_slabs)

    def shared_bytes(self, shape: LinearShape) -> int:
        """Bytes of the stages, whose memory the sums of warps over k use afterwards."""
        stages = self.stages * self.stage_slabs * (self.rows + self.columns) * SLAB_DEPTH
        return 4 * max(stages, self.warps[2] * self.rows * self.columns)

    def blocks(self, shape: LinearShape) -> int:
        """Blocks of the grid."""
        return -(-shape.rows // self.rows) * -(-shape.n // self.columns)


@dataclass(frozen=True, slots=True)
class WarpgroupTile:
    """Slabs of 32 k of both operands pass through shared memory; a warpgroup, on sm_90a, has 64 rows.

    warpgroup_product.cuh is its text.

    Args:
        rows: of the tile.
        columns: of the tile.
        stages: buffers for stages.
        over_k: warpgroups that share the k of a result, and slabs of a stage.
    """

    rows: int
    columns: int
    stages: int
    over_k: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows // WARPGROUP_ROWS * 4 * WARP_LANES * self.over_k

    def steps(self, shape: LinearShape) -> int:
        """Stages that pass; every part of x starts a slab."""
        return -(-(-(-shape.k // WARPGROUP_DEPTH) + shape.parts - 1) // self.over_k)

    def shared_bytes(self, shape: LinearShape) -> int:
        """Bytes of the stages and, where products are split, of two slabs of lower halves of w."""
        lows = 2 * self.columns if shape.precision == "fp32" else 0
        return 4 * WARPGROUP_DEPTH * self.over_k * (self.stages * (self.rows + self.columns) + lows)

    def blocks(self, shape: LinearShape) -> int:
        """Blocks of the grid."""
        return -(-shape.rows // self.rows) * -(-shape.n // self.columns)


LinearTile = RowsTile | ProductTile | TensorProductTile | WarpgroupTile

PRODUCT_TILES = (
    ProductTile(128, 128, 16, 8, 8),
    ProductTile(128, 128, 32, 8, 8),
    ProductTile(128, 64, 16, 8, 4),
    ProductTile(128, 64, 32, 8, 4),
    ProductTile(64, 64, 16, 4, 4),
    ProductTile(64, 64, 32, 4, 4),
    ProductTile(32, 64, 16, 4, 4),
    ProductTile(32, 64, 32, 4, 4),
    ProductTile(32, 32, 16, 2, 4),
    ProductTile(16, 32, 32, 2, 2),
)

# A warp has 64 x 32 results of the largest tile, which keeps shared memory out of the way of the tensor
# cores, and 32 x 32 of the others. Where the tile is small, warps share its k: eight of them keep a
# multiprocessor busy.
TENSOR_TILES = (
    TensorProductTile(128, 128, (2, 4, 1), 2, 4),
    TensorProductTile(128, 128, (4, 4, 1), 2, 4),
    TensorProductTile(128, 64, (4, 2, 1), 2, 4),
    TensorProductTile(64, 128, (2, 4, 1), 2, 4),
    TensorProductTile(64, 64, (2, 2, 2), 1, 4),
    TensorProductTile(64, 32, (2, 1, 4), 1, 4),
    TensorProductTile(32, 64, (1, 2, 4), 1, 4),
    TensorProductTile(32, 32, (1, 1, 8), 1, 4),
)

WARPGROUP_TILES = (
    WarpgroupTile(128, 128, 4),
    WarpgroupTile(128, 64, 5),
    WarpgroupTile(64, 128, 5),
    WarpgroupTile(64, 64, 6),
    WarpgroupTile(64, 32, 6),
    WarpgroupTile(64, 64, 4, over_k=2),
    WarpgroupTile(64, 32, 4, over_k=2),
)
