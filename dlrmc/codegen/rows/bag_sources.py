"""The sources of a group of bags in shared memory, where threads find them by the number of a table.

A `switch` over a hundred tables in the middle of a stage would be fetched by every warp; here each table is one
line, run by one thread, and its numbers come from a table of constants.
"""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.kernels.embedding_bag import Bags
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.tile_text import indented
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.ir.graph import Node

# sizeof(BagSource) in floats (embedding_bag.cuh): four pointers, four 64-bit and three 32-bit numbers, padded.
SOURCE_ELEMENTS = 20
FEWEST_TABLES = 3


def source_numbers(
    name: str, tables: Sequence[Bags], windows: TileWindows, sites: FaultSites
) -> list[str]:
    """The table of constants, one line for each table."""
    rows = [f"{_numbers(bags, windows, sites)}," for bags in tables]
    return [f"static __device__ const BagNumbers {name}[{len(tables)}] = {{", *indented(rows), "};"]


def _numbers(bags: Bags, windows: TileWindows, sites: FaultSites) -> str:
    table, ids = windows.operand(bags.table), windows.operand(bags.ids)
    fields = (
        table.shape[0],
        ids.shape[-1],
        ids.strides[0] if bags.offsets is None else 0,
        bags.options.padding_idx,
        sites.number(bags.ids, "id"),
        0 if bags.offsets is None else sites.number(bags.offsets, "offset"),
    )
    indirect = ", ".join("true" if _is_slot(node, windows) else "false" for node in _slots(bags))
    return f"{{{', '.join(map(str, fields))}, {{{indirect}}}}}"


def write_sources(
    buffer: str, numbers: str, tables: Sequence[Bags], windows: TileWindows, threads: int
) -> list[str]:
    """The statements that fill `buffer`; a barrier must follow. Neighbouring tables are different warps' work."""
    warps = threads // WARP_LANES
    lines = [f"BagSource* const sources = reinterpret_cast<BagSource*>({buffer});"]
    for number, bags in enumerate(tables):
        pointers = [windows.operand(bags.table).start, *(_pointer(node, windows) for node in _slots(bags))]
        names = ("table", "ids", "offsets", "weights")
        writes = " ".join(
            f"sources[{number}].{name} = {pointer};" for name, pointer in zip(names, pointers, strict=True)
        )
        lines.append(f"if (threadIdx.x == {_thread(number, warps)}) {{ {writes} }}")
    lane, warp = f"threadIdx.x % {WARP_LANES}", f"threadIdx.x / {WARP_LANES}"
    return [
        *lines,
        f"const int own_table = {lane} * {warps} + {warp};",
        f"if (own_table < {len(tables)}) complete_source(sources[own_table], {numbers}[own_table]);",
    ]


def _thread(number: int, warps: int) -> int:
    return number % warps * WARP_LANES + number // warps


def _slots(bags: Bags) -> tuple[Node | None, Node | None, Node | None]:
    return bags.ids, bags.offsets, bags.weights


def _is_slot(node: Node | None, windows: TileWindows) -> bool:
    return node is not None and windows.operand(node).pointer.startswith("*")


def _pointer(node: Node | None, windows: TileWindows) -> str:
    """The pointer, or the address of the slot that holds it."""
    return "nullptr" if node is None else windows.operand(node).start.removeprefix("*")


def has_sources(tables: Sequence[Bags]) -> bool:
    """Whether a group keeps its sources in shared memory: several tables of the same options and dtypes, whose ids,
    offsets and weights are whole operands."""
    first = tables[0]
    kinds = {_kind(bags) for bags in tables}
    nodes = [node for bags in tables for node in (bags.table, *_slots(bags)) if node is not None]
    return len(tables) >= FEWEST_TABLES and kinds == {_kind(first)} and all(n.is_op("input") for n in nodes)


def _kind(bags: Bags) -> tuple[object, ...]:
    options = bags.options
    dtypes = tuple(None if node is None else node.type.dtype for node in _slots(bags))
    return options.mode, options.include_last_offset, options.padding_idx >= 0, dtypes
