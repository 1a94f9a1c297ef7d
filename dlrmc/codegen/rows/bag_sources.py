"""The sources of a group of bags in shared memory, where a warp's lanes find them by the number of a table.

Every warp writes those of its own tables, a lane each: it finds the table's pointers by their numbers in the
array of all pointers of the kernel (kernel_pointers.cuh), and its numbers in a table of constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.tile_text import indented, offset_by
from dlrmc.codegen.rows.bag_unit import BagUnit
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.ir.bag_tables import Bags
from dlrmc.ir.graph import Node

# sizeof(BagSource) in floats (bag_source.cuh): four pointers, four 64-bit and three 32-bit numbers, padded.
SOURCE_ELEMENTS = 20
# Numbers of rows are 32-bit in a warp's registers.
MOST_ROWS = 1 << 31


def source_numbers(
    name: str, tables: Sequence[Bags], windows: TileWindows, sites: FaultSites, bag_count: int
) -> list[str]:
    """The table of constants, one line for each table. `bag_count`: bags of one table in the whole batch."""
    rows = [f"{_numbers(bags, windows, sites, bag_count)}," for bags in tables]
    return [f"static __device__ const BagNumbers {name}[{len(tables)}] = {{", *indented(rows), "};"]


def _numbers(bags: Bags, windows: TileWindows, sites: FaultSites, bag_count: int) -> str:
    table, ids = windows.operand(bags.table), windows.operand(bags.ids)
    fields = (
        table.shape[0],
        -1 if ids.count else ids.shape[-1],
        ids.strides[0] if bags.offsets is None else _even_length(bags.ids.type.numel, bag_count),
        bags.options.padding_idx,
        sites.number_of_bags(bags.ids),
        0 if bags.offsets is None else sites.number(bags.offsets, "offset"),
    )
    return f"{{{', '.join(map(str, fields))}}}"


def _even_length(id_count: int, bag_count: int) -> int:
    """Ids a bag if all were of one length; 0 where they cannot be."""
    return id_count // bag_count if id_count % bag_count == 0 else 0


def source_places(name: str, tables: Sequence[Bags], windows: TileWindows) -> list[str]:
    """The numbers of the tables' pointers among the kernel's, of roles in which no formula gives them."""
    rows = [places for places in _places(tables, windows) if places and _step(places) is None]
    if not rows:
        return []
    lines = [f"{{{', '.join(map(str, places))}}}," for places in rows]
    count = f"[{len(rows)}][{len(tables)}]"
    return [f"static __device__ const unsigned short {name}{count} = {{", *indented(lines), "};"]


def write_sources(
    buffer: str, names: tuple[str, str], tables: Sequence[Bags], windows: TileWindows, unit: BagUnit
) -> list[str]:
    """The statements by which each warp fills its part of `buffer`.

    A lane reads the pointers of one table from the kernel's parameters, and touches no others: their first
    read misses the constant cache. `names`: of the tables of source_numbers and source_places.
    """
    numbers, places = names
    firsts = f"WARP * {unit.warp_bags} / {unit.entries}".replace("WARP", "warp")
    flags = _indirections(tables, windows)
    return [
        f"const int lane = threadIdx.x % {WARP_LANES};",
        f"const int warp = threadIdx.x / {WARP_LANES};",
        f"const int table = {firsts} + lane;",
        f"const bool is_own = warp < {unit.warps} && lane < {unit.sources} && table < {len(tables)};",
        "if (is_own) {",
        f"    const BagPointers own = {{{', '.join(_pointers(places, tables, windows))}}};",
        f"    BagSource* const sources = reinterpret_cast<BagSource*>({buffer}) + warp * {unit.sources};",
        f"    sources[lane] = bag_source<{flags}>(own, {numbers}[table]);",
        "}",
        "__syncwarp();",
    ]


def _pointers(name: str, tables: Sequence[Bags], windows: TileWindows) -> Iterator[str]:
    """For table, ids, offsets and weights, the C expression of the pointer that belongs to `table`."""
    looked_up = 0
    for places in _places(tables, windows):
        step = _step(places) if places else None
        if not places:
            yield "nullptr"
        elif step is not None:
            yield f"pointers.at[{offset_by(str(places[0]), ('table', step))}]"
        else:
            yield f"pointers.at[{name}[{looked_up}][table]]"
            looked_up += 1


def _places(tables: Sequence[Bags], windows: TileWindows) -> list[list[int]]:
    """For table, ids, offsets and weights, the places among the kernel's operands; none of an absent one."""
    roles = zip(*((bags.table, *_slots(bags)) for bags in tables), strict=True)
    return [[windows.operand_place(node) for node in role if node is not None] for role in roles]


def _step(places: Sequence[int]) -> int | None:
    """What leads from each place to the next, if that is the same everywhere."""
    steps = {after - before for before, after in pairwise(places)} or {0}
    return steps.pop() if len(steps) == 1 else None


def _indirections(tables: Sequence[Bags], windows: TileWindows) -> str:
    """For ids, offsets and weights, whether they are reached through slots."""
    flags = [_is_slot(node, windows) for node in _slots(tables[0])]
    return ", ".join("true" if flag else "false" for flag in flags)


def _slots(bags: Bags) -> tuple[Node | None, Node | None, Node | None]:
    return bags.ids, bags.offsets, bags.weights


def _is_slot(node: Node | None, windows: TileWindows) -> bool:
    return node is not None and windows.operand(node).pointer.startswith("*")


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
