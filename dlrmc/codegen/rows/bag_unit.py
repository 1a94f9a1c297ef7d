"""How the warps of a block share the bags of a group of tables (warp_bags.cuh)."""

from __future__ import annotations

from dataclasses import dataclass

from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.sizes import Constant, power_of_two_at_least

# Rows of all bags of a lane that are on their way at once; each takes up to four registers.
LARGEST_IN_FLIGHT = 8


@dataclass(frozen=True, slots=True)
class BagUnit:
    """Sizes of warp_bags.cuh.

    Args:
        tables: of the group.
        entries: bags of one table in a tile.
        bags: of one unit of work, which one warp takes.
        packs: lanes of a bag that load its rows.
        ids: that one lane loads at a time.
        at_once: rows of a bag that are on their way at once.
        units_of_warp: neighbouring units that one warp takes.
    """

    tables: int
    entries: int
    bags: int
    packs: int
    ids: int
    at_once: int
    units_of_warp: int

    @property
    def units(self) -> int:
        """Units of work of a tile."""
        return -(-self.tables * self.entries // self.bags)

    @property
    def warps(self) -> int:
        """Warps that have units."""
        return -(-self.units // self.units_of_warp)

    @property
    def warp_bags(self) -> int:
        """Bags of one warp."""
        return self.bags * self.units_of_warp

    def tables_of(self, warp: int) -> range:
        """The tables that a warp has bags of."""
        last = min((warp + 1) * self.warp_bags, self.tables * self.entries) - 1
        return range(warp * self.warp_bags // self.entries, last // self.entries + 1)

    @property
    def sources(self) -> int:
        """The most tables of one warp."""
        return max(len(self.tables_of(warp)) for warp in range(self.warps))

    @property
    def constants(self) -> dict[str, Constant]:
        """By their names in the struct of constants."""
        return {
            "TABLES": self.tables,
            "ENTRIES": self.entries,
            "BAGS": self.bags,
            "PACKS": self.packs,
            "IDS": self.ids,
            "AT_ONCE": self.at_once,
            "UNITS_OF_WARP": self.units_of_warp,
            "SOURCES": self.sources,
        }


def choose_bag_unit(sizes: tuple[int, int], packs: int, length: int, threads: int) -> BagUnit | None:
    """As many bags a unit as leave work for every warp and fit into registers.

    Args:
        sizes: tables, and bags of one table in a tile.
        packs: loads that it takes to read a row.
        length: of a bag, about.
        threads: of the block.

    Returns:
        None where a lane would have to hold too much of a row.
    """
    tables, entries = sizes
    at_once = min(power_of_two_at_least(length), LARGEST_IN_FLIGHT)
    bags, warps = WARP_LANES, threads // WARP_LANES

    def items(bags: int) -> int:
        return -(-bags * packs // WARP_LANES)

    while bags > 1 and items(bags) > 1:
        if items(bags) * at_once <= LARGEST_IN_FLIGHT and tables * entries >= bags * warps:
            break
        bags //= 2
    lanes_of_bag = WARP_LANES // bags
    ids = max(1, at_once // lanes_of_bag)
    if items(bags) * at_once > LARGEST_IN_FLIGHT:
        return None
    units = -(-tables * entries // bags)
    return BagUnit(tables, entries, bags, packs, ids, at_once, -(-units // warps))


def most_sources(sizes: tuple[int, int], columns: int, threads: int) -> int:
    """The most sources that the warps of a group may need, however its rows are read and its bags filled.

    Args:
        sizes: tables, and bags of one table in a tile.
        columns: of a row.
        threads: of the block.
    """
    choices = [
        choose_bag_unit(sizes, -(-columns // pack), length, threads)
        for pack in (1, 2, 4, 8)
        for length in (1, 2, 4, 8)
    ]
    return max((unit.warps * unit.sources for unit in choices if unit is not None), default=0)


def table_unit(tables: int, threads: int) -> BagUnit:
    """How warps share the sources of tables whose bags are dealt to threads: a run of tables to each."""
    warps = threads // WARP_LANES
    return BagUnit(tables, 1, 1, 1, 1, 1, -(-tables // warps))
