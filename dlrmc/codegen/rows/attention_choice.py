"""How the threads of a block share an attention stage (attention.cuh)."""

from __future__ import annotations

from dataclasses import dataclass

from dlrmc.codegen.kernels.linear_tile import WARP_LANES

# Floats of queries and results that a thread keeps: with the scores of a chunk they fit its registers.
_MOST_KEPT = 64
_MOST_KEYS = 8
# Instructions for a score besides its products (scale, largest, power, sum), and cycles of a pack from shared
# memory.
_SCORE = 16
_PACK_CYCLES = 4
_SCHEDULERS = 4
# What one warp takes for an instruction whose result the next one needs.
_LATENCY = 2.0


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """Sizes of one stage: entries of a tile, queries, keys, and columns of a query and of a result."""

    entries: int
    m: int
    n: int
    depth: int
    width: int


@dataclass(frozen=True, slots=True)
class AttentionTile:
    """The constants of attention.cuh of these names."""

    queries: int
    lanes: int
    keys: int

    def items(self, shape: AttentionShape) -> int:
        """Threads that have work."""
        return shape.entries * -(-shape.m // self.queries) * self.lanes

    def kept(self, shape: AttentionShape) -> int:
        """Floats of queries and results that a thread keeps."""
        return self.queries * sum(_share(columns, self.lanes) for columns in (shape.depth, shape.width))


def choose_attention_tile(shape: AttentionShape, threads: int) -> AttentionTile:
    """The tile of least estimated time in a block of `threads` threads."""
    candidates = [
        AttentionTile(queries, lanes, min(_MOST_KEYS // (2 if queries == 4 else 1), shape.n))
        for queries in (1, 2, 4)
        for lanes in (1, 2, 4, 8, 16, 32)
        if queries == 1 or queries <= shape.m
    ]
    fitting = [tile for tile in candidates if tile.kept(shape) <= _MOST_KEPT]
    return min(fitting or candidates[5:6], key=lambda tile: _cycles(tile, shape, threads // WARP_LANES))


def _share(columns: int, lanes: int) -> int:
    """Columns of one lane, in packs of 4."""
    return -(-columns // (4 * lanes)) * 4


def _cycles(tile: AttentionTile, shape: AttentionShape, warps: int) -> float:
    """Of a multiprocessor: instructions, reads of shared memory, or the longest warp bound the stage."""
    needed = -(-tile.items(shape) // WARP_LANES)
    columns = _share(shape.depth, tile.lanes) + _share(shape.width, tile.lanes)
    folds = tile.lanes.bit_length() - 1
    issued = shape.n * (tile.queries * (columns + _SCORE + 2 * folds) + columns / 4 + 4)
    reads = shape.n * columns / 4 * _PACK_CYCLES
    turns = -(-needed // warps)
    return max(needed * issued / _SCHEDULERS, needed * reads, turns * issued * _LATENCY)
