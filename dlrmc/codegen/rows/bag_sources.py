"""The sources of a group of bags in shared memory, where threads find them by the number of a table.

A `switch` over a hundred tables in the middle of a stage would be fetched by every warp; here each table is
one line, run by one thread, and its numbers come from a table of constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.tile_text import indented
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.ir.bag_tables import Bags
from dlrmc.ir.graph import Node

# sizeof(BagSource) in floats (bag_source.cuh): four pointers, four 64-bit and three 32-bit numbers, padded.
SOURCE_ELEMENTS = 20
FEWEST_TABLES = 3


def source_numbers(name: str, tables: Sequence[Bags], windows: TileWindows, sites: FaultSites) -> list[str]:
    """The table of constants, one line for each table."""
    rows = [f"{_numbers(bags, windows, sites)}," for bags in tables]
    return [f"static __device__ const BagNumbers {name}[{len(tables)}] = {{", *indented(rows), "};"]


def _numbers(bags: Bags, windows: TileWindows, sites: FaultSites) -> str:
    table, ids = windows.operand(bags.table), windows.operand(bags.ids)
    fields = (
        table.shape[0],
        -1 if ids.count else ids.shape[-1],
        ids.strides[0] if bags.offsets is None else 0,
        bags.options.padding_idx,
        sites.number(bags.ids, "id"),
        0 if bags.offsets is None else sites.number(bags.offsets, "offset"),
    )
    return f"{{{', '.join(map(str, fields))}}}"


def write_sources(
    buffer: str, numbers: str, tables: Sequence[Bags], windows: TileWindows, threads: int
) -> list[str]:
    """The statements that fill `buffer`; a barrier must follow.

    Every warp writes the pointers of its own tables, and touches no other parameters of the kernel: their
    first read misses the constant cache. Then each of its lanes completes one table.
    """
    warps = threads // WARP_LANES
    cases: list[str] = []
    for warp in range(min(warps, len(tables))):
        own = range(warp, len(tables), warps)
        writes = [write for number in own for write in _writes(number, tables[number], windows)]
        cases += [f"case {warp}:", *indented([*writes, "break;"])]
    complete = f"complete_source<{_indirections(tables, windows)}>"
    lane, warp_number = f"threadIdx.x % {WARP_LANES}", f"threadIdx.x / {WARP_LANES}"
    return [
        f"BagSource* const sources = reinterpret_cast<BagSource*>({buffer});",
        f"const int own_table = {lane} * {warps} + {warp_number};",
        f"const BagNumbers own_numbers = {numbers}[own_table < {len(tables)} ? own_table : 0];",
        f"if ({lane} == 0) {{",
        *indented([f"switch ({warp_number}) {{", *indented(cases), "}"]),
        "}",
        "__syncwarp();",
        f"if (own_table < {len(tables)}) {complete}(sources[own_table], own_numbers);",
    ]


def _writes(number: int, bags: Bags, windows: TileWindows) -> list[str]:
    pointers = [windows.operand(bags.table).start, *(_pointer(node, windows) for node in _slots(bags))]
    names = ("table", "ids", "offsets", "weights")
    return [f"sources[{number}].{name} = {p};" for name, p in zip(names, pointers, strict=True)]


def _indirections(tables: Sequence[Bags], windows: TileWindows) -> str:
    """For ids, offsets and weights, whether they are reached through slots."""
    flags = [_is_slot(node, windows) for node in _slots(tables[0])]
    return ", ".join("true" if flag else "false" for flag in flags)


def _slots(bags: Bags) -> tuple[Node | None, Node | None, Node | None]:
    return bags.ids, bags.offsets, bags.weights


def _is_slot(node: Node | None, windows: TileWindows) -> bool:
    return node is not None and windows.operand(node).pointer.startswith("*")


def _pointer(node: Node | None, windows: TileWindows) -> str:
    """The pointer, or the address of the slot that holds it."""
    return "nullptr" if node is None else windows.operand(node).start.removeprefix("*")


def has_sources(tables: Sequence[Bags], is_indirect: Callable[[Node], bool]) -> bool:
    """Whether a group keeps its sources in shared memory.

    Its tables are several, none without rows, of the same options and dtypes, and their ids, offsets and
    weights are whole operands that are reached in the same way.
    """
    nodes = [node for bags in tables for node in (bags.table, *_slots(bags)) if node is not None]
    is_whole = all(node.is_op("input") for node in nodes)
    if len(tables) < FEWEST_TABLES or not is_whole or not all(bags.table.shape[0] for bags in tables):
        return False
    ways = {tuple(node is not None and is_indirect(node) for node in _slots(bags)) for bags in tables}
    return len({_kind(bags) for bags in tables}) == 1 and len(ways) == 1


def _kind(bags: Bags) -> tuple[object, ...]:
    options = bags.options
    dtypes = tuple(None if node is None else node.type.dtype for node in _slots(bags))
    return options.mode, options.include_last_offset, options.padding_idx >= 0, dtypes
