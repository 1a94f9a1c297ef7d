"""What a bmm kernel computes, and the tile in which small matrices are held whole."""

from __future__ import annotations

from dataclasses import dataclass

from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.sizes import odd_packs, power_of_two_at_least, round_up
from dlrmc.codegen.kernels.windows import Window, Windows
from dlrmc.codegen.scalar_types import COMPUTE_TYPES
from dlrmc.ir.graph import Node
from dlrmc.ir.op import one
from dlrmc.schedule.limits import DeviceLimits

LARGEST_BLOCK = 256
WANTED_ITEMS = 128
LARGEST_ROWS = 32
# Above these sizes the operands of one entry pass through shared memory in chunks.
LARGEST_SIDE = 64
LARGEST_SHARED_BYTES = 48 * 1024


@dataclass(frozen=True, slots=True)
class BmmProblem:
    """c[b, m, n] = sum over k of a[b, m, k] * b[b, n, k]; the windows have their dimensions in this order."""

    batch: int
    m: int
    n: int
    k: int
    a: Window
    b: Window
    c: Window

    @property
    def compute_type(self) -> str:
        """The C type of sums."""
        return COMPUTE_TYPES[self.c.dtype]

    @property
    def compute_bytes(self) -> int:
        """Bytes of a sum."""
        return max(self.c.dtype.size_bytes, 4)


@dataclass(frozen=True, slots=True)
class BatchTile:
    """Sizes of a tile of `rows` entries, in elements of the compute type; strides as in bmm.cuh."""

    rows: int
    block_m: int
    block_n: int
    a_item: int
    a_row: int
    b_item: int
    b_row: int
    c_row: int
    threads: int

    @property
    def elements(self) -> int:
        """Elements of shared memory."""
        return self.rows * (self.a_row + self.b_row + self.c_row)


def bmm_problem(anchor: Node, windows: Windows) -> BmmProblem:
    """Read the problem off the anchor.

    Raises:
        CodegenError: where an operand is no strided window.
    """
    a, b = windows.operand(one(anchor.operands[0])), windows.operand(one(anchor.operands[1]))
    a = _swapped(a) if anchor.attributes.bool("trans_a") else a
    b = b if anchor.attributes.bool("trans_b") else _swapped(b)
    batch, m, n = anchor.shape
    return BmmProblem(batch, m, n, a.shape[2], a, b, windows.result(anchor))


def _swapped(window: Window) -> Window:
    return window.permuted((0, 2, 1))


def choose_batch_tile(
    problem: BmmProblem, limits: DeviceLimits, rows: int = 0, threads: int = 0
) -> BatchTile | None:
    """Entries for WANTED_ITEMS blocks of results a tile, but no fewer tiles than multiprocessors.

    Args:
        problem: the sizes.
        limits: of the device.
        rows: the wanted entries of a tile; 0 for any.
        threads: the wanted threads of a block; 0 for any.

    Returns:
        The tile, or None where the matrices are too large to be held whole.
    """
    if max(problem.m, problem.n) > LARGEST_SIDE:
        return None
    height = rows or 1
    tile = _batch_tile(problem, height, threads)
    limit_bytes = min(LARGEST_SHARED_BYTES, limits.shared_bytes_per_block)
    if tile.elements * problem.compute_bytes > limit_bytes:
        return None
    while not rows and height < LARGEST_ROWS and height * _blocks(problem) < WANTED_ITEMS:
        taller = _batch_tile(problem, 2 * height, threads)
        too_few = -(-problem.batch // (2 * height)) < limits.multiprocessors
        if too_few or taller.elements * problem.compute_bytes > limit_bytes:
            break
        height, tile = 2 * height, taller
    return tile


def _side(size: int) -> int:
    """The side of a thread's block of results."""
    return 4 if size >= 8 else min(2, size)


def _blocks(problem: BmmProblem) -> int:
    """Blocks of results of one entry."""
    return -(-problem.m // _side(problem.m)) * -(-problem.n // _side(problem.n))


def _batch_tile(problem: BmmProblem, rows: int, threads: int) -> BatchTile:
    item = odd_packs(problem.k)
    block_m, block_n = _side(problem.m), _side(problem.n)
    items = rows * max(_blocks(problem), (problem.m + problem.n) * problem.k // 16)
    return BatchTile(
        rows=rows,
        block_m=block_m,
        block_n=block_n,
        a_item=item,
        a_row=odd_packs(round_up(problem.m, block_m) * item),
        b_item=item,
        b_row=odd_packs(round_up(problem.n, block_n) * item),
        c_row=round_up(problem.m * problem.n, 4),
        threads=threads or min(max(power_of_two_at_least(items), WARP_LANES), LARGEST_BLOCK),
    )
