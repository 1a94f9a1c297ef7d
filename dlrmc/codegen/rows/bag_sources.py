"""The sources of a group of bags in shared memory, where a warp's lanes find them by the number of a table.

Every warp writes those of its own tables. A `switch` over a hundred tables in the middle of a stage would be
fetched by every warp; here each table is one line, run by one lane, and its numbers come from a table of
constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.tile_text import indented
from dlrmc.codegen.rows.bag_unit import BagUnit
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.ir.bag_tables import Bags
from dlrmc.ir.graph import Node

# sizeof(BagSource) in floats (bag_source.cuh): four pointers, four 64-bit and three 32-bit numbers, padded.
SOURCE_ELEMENTS = 20
# Numbers of rows are 32-bit in a warp's registers.
MOST_ROWS = 1 << 31


def source_numbers(name: str, tables: Sequence[Bags], windows: TileWindows, sites: FaultSites) -> list[str]:
    """The table of constants, one line for each table."""
    rows = [f"{_numbers(bags, windows, sites)}," for bags in tables]
    return [f"static __device__ const BagNumbers {name}[{len(tables)}] = {{", *indented(rows), "};"]


def _numbers(bags: Bags, windows: TileWindows, sites: FaultSites) -> str:
    table, ids = windows.operand(bags.table), windows.operand(bags.ids)
    fields = (
        table.shape[0],
        -1 if ids.count else ids.shape[-1],
        ids.strides[0] if bags.offsets is None else _even_length(bags),
        bags.options.padding_idx,
        sites.number(bags.ids, "id"),
        0 if bags.offsets is None else sites.number(bags.offsets, "offset"),
    )
    return f"{{{', '.join(map(str, fields))}}}"


def _even_length(bags: Bags) -> int:
    """Ids a bag if all were of one length; 0 where they cannot be."""
    bag_count = bags.offsets.type.numel - bags.options.include_last_offset if bags.offsets is not None else 0
    return bags.ids.type.numel // bag_count if bag_count and bags.ids.type.numel % bag_count == 0 else 0


def write_sources(
    buffer: str, numbers: str, tables: Sequence[Bags], windows: TileWindows, unit: BagUnit
) -> list[str]:
    """The statements by which each warp fills its part of `buffer`.

    A lane reads the pointers of one table from the kernel's parameters, and touches no others: their first
    read misses the constant cache.
    """
    cases: list[str] = []
    for warp in range(unit.warps):
        own = [
            f"if (lane == {lane}) own = {_pointers(tables[number], windows)};"
            for lane, number in enumerate(unit.tables_of(warp))
        ]
        cases += [f"case {warp}:", *indented([*own, "break;"])]
    firsts = f"WARP * {unit.warp_bags} / {unit.entries}".replace("WARP", "warp")
    flags = _indirections(tables, windows)
    return [
        f"const int lane = threadIdx.x % {WARP_LANES};",
        f"const int warp = threadIdx.x / {WARP_LANES};",
        f"const int table = {firsts} + lane;",
        f"const bool is_own = warp < {unit.warps} && lane < {unit.sources} && table < {len(tables)};",
        "BagPointers own = {};",
        "switch (warp) {",
        *indented(cases),
        "}",
        "if (is_own) {",
        f"    BagSource* const sources = reinterpret_cast<BagSource*>({buffer}) + warp * {unit.sources};",
        f"    sources[lane] = bag_source<{flags}>(own, {numbers}[table]);",
        "}",
        "__syncwarp();",
    ]


def _pointers(bags: Bags, windows: TileWindows) -> str:
    pointers = [windows.operand(bags.table).start, *(_pointer(node, windows) for node in _slots(bags))]
    return f"BagPointers{{{', '.join(pointers)}}}"


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

    None of its tables is without rows, all are of the same options and dtypes, and their ids, offsets and
    weights are whole operands that are reached in the same way.
    """
    nodes = [node for bags in tables for node in (bags.table, *_slots(bags)) if node is not None]
    is_whole = all(node.is_op("input") for node in nodes)
    if not is_whole or not all(0 < bags.table.shape[0] < MOST_ROWS for bags in tables):
        return False
    ways = {tuple(node is not None and is_indirect(node) for node in _slots(bags)) for bags in tables}
    return len({_kind(bags) for bags in tables}) == 1 and len(ways) == 1


def _kind(bags: Bags) -> tuple[object, ...]:
    options = bags.options
    dtypes = tuple(None if node is None else node.type.dtype for node in _slots(bags))
    return options.mode, options.include_last_offset, options.padding_idx >= 0, dtypes
