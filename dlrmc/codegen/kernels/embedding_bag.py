"""The `embedding_bag` kernel: the bags of one table or of all tables of a group in one launch.

A block works on bags of one table, the tables with the longest bags first. Which pointers and numbers are the
table's is a `switch`, one line a table; tables that need the same code share one instance of the stage
(EmbeddingBag of embedding_bag.cuh).

The constants of the emitted structs, one struct for each kind of table:
    Element, Id, Offset               storage types of the table, the ids and the offsets
    MODE                              sum, mean or max
    HAS_OFFSETS, INCLUDE_LAST_OFFSET  without offsets every bag has source.id_count ids
    HAS_PADDING, HAS_WEIGHTS
    TABLE_ROW, TABLE_COLUMN           strides of the table
    ID_STRIDE, OFFSET_STRIDE          strides of the ids of a bag and of the offsets
    WEIGHT_BAG, WEIGHT_STRIDE         strides of the weights: bag to bag (without offsets), within a bag
    VECTOR, IN_FLIGHT                 neighbouring columns of a lane; rows that are loaded before one is used
    Y_COLUMN, Y_IS_PACKED             stride of the result's columns; whether VECTOR results move together
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dlrmc.codegen.fault_record import END_OF_BLOCK
from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.sizes import Constant, constants_struct, power_of_two_at_least
from dlrmc.codegen.kernels.tile_text import indented, offset_by
from dlrmc.codegen.kernels.windows import OperandWindows, Window, Windows, find_anchor
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.codegen.signature import Signature, build_signature, ir_comment
from dlrmc.codegen.source import KernelContext, KernelSource
from dlrmc.ir.bag_tables import Bags, bags_of
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.types import DType

FLOAT_BAG_OPS = ("embedding_bag", "embedding_bag_group")
WARP_LANES = 32
LARGEST_BLOCK = 256
LARGEST_PACK_BYTES = 16
LARGEST_IN_FLIGHT = 8


@dataclass(frozen=True, slots=True)
class BagLayout:
    """How lanes cover the bags.

    Args:
        pack: neighbouring columns of a lane.
        lanes: lanes of a bag, a power of two.
        slabs: how many groups of lanes it takes to cover a bag's columns.
        threads: of a block.
        blocks: for one table.
    """

    pack: int
    lanes: int
    slabs: int
    threads: int
    blocks: int


class EmbeddingBag(KernelImpl):
    """Body: one embedding_bag or embedding_bag_group over strided views of the operands."""

    name = "embedding_bag"

    def check(self, body: Graph) -> None:
        find_anchor(self, body, FLOAT_BAG_OPS)

    def emit(self, kernel: Node, context: KernelContext) -> KernelSource:
        anchor = find_anchor(self, kernel.body, FLOAT_BAG_OPS)
        signature = build_signature(kernel.body, context, has_faults=True)
        tables = bags_of(anchor)
        windows = Windows(self, kernel.body, context, signature)
        y = windows.result(anchor)
        sites = FaultSites(kernel.body, context)
        layout = choose_layout(anchor, common_pack(tables, y, windows), kernel.attributes.int("threads"))
        lines = BagEmission(context.name, signature, windows, sites, y, layout).lines(tables)
        return KernelSource(
            context.name,
            "\n".join([ir_comment(kernel), *lines]),
            ("embedding_bag.cuh",),
            layout.blocks * len(tables),
            layout.threads,
            0,
            signature.params,
            sites.sites,
        )


def choose_layout(anchor: Node, pack: int, threads: int = 0) -> BagLayout:
    """Few lanes a bag, each with a wide load, and blocks no larger than the bags of one table can fill.

    Args:
        anchor: the op; its first dimension is the bags, its last the columns.
        pack: neighbouring columns of a lane.
        threads: the wanted size of a block, at least one warp; 0 for any.
    """
    bags, columns = anchor.shape[0], anchor.shape[-1]
    lanes = min(power_of_two_at_least(-(-columns // pack)), WARP_LANES)
    slabs = -(-columns // (lanes * pack))
    items = bags * slabs * lanes
    block = threads or min(max(power_of_two_at_least(items), WARP_LANES), LARGEST_BLOCK)
    return BagLayout(pack, lanes, slabs, block, -(-items // block))


def average_length(bags: Bags) -> int:
    """Ids of a bag, rounded up."""
    if bags.offsets is None:
        return bags.ids.shape[1]
    return -(-bags.ids.shape[0] // max(bags.offsets.shape[0] - bags.options.include_last_offset, 1))


def rows_in_flight(bags: Bags) -> int:
    """Rows that a lane loads before it uses the first: as many as a bag has on average, up to a limit."""
    return min(power_of_two_at_least(average_length(bags)), LARGEST_IN_FLIGHT)


def common_pack(tables: Iterable[Bags], y: Window, windows: OperandWindows) -> int:
    """Columns that every table can load at once; a result that cannot be packed is stored one by one."""
    columns = y.shape[-1]
    limit = LARGEST_PACK_BYTES // y.dtype.size_bytes
    for bags in tables:
        table = windows.operand(bags.table)
        limit = table.pack(columns, (table.strides[0],), limit) if table.strides[1] == 1 else 1
    return limit


def _switch(number: str, statements: list[str]) -> list[str]:
    """The statement of that number."""
    cases = [f"case {case}: {text} break;" for case, text in enumerate(statements[:-1])]
    return [f"switch ({number}) {{", *indented([*cases, f"default: {statements[-1]} break;"]), "}"]


@dataclass(frozen=True, slots=True)
class BagEmission:
    """Writes the text of one kernel, or of a stage of a row program, which places its threads itself."""

    name: str
    signature: Signature
    windows: OperandWindows
    sites: FaultSites
    y: Window
    layout: BagLayout

    @property
    def function(self) -> str:
        """The struct whose `run` is the stage."""
        return "EmbeddingBag"

    def lines(self, tables: tuple[Bags, ...]) -> list[str]:
        """The structs of the kinds and the kernel."""
        kinds: dict[tuple[tuple[str, Constant], ...], int] = {}
        numbers = [kinds.setdefault(tuple(self.kind(bags).items()), len(kinds)) for bags in tables]
        structs: list[str] = []
        for kind, number in kinds.items():
            structs.extend(self.struct(dict(kind), number))
        body = [
            *self.signature.slot_reads,
            *self._place(),
            f"if (bag < {self.y.shape[0]} && column < {self.y.shape[-1]}) {{",
            *indented(
                [
                    *self._source_of_block(tables, numbers),
                    self._target(),
                    *self.run(len(kinds), self.y.shape[0]),
                ]
            ),
            "}",
            *END_OF_BLOCK,
        ]
        return [*structs, self.signature.head(self.name, self.layout.threads), *indented(body), "}"]

    def kind(self, bags: Bags) -> dict[str, Constant]:
        """The constants that select code."""
        table, ids = self.windows.operand(bags.table), self.windows.operand(bags.ids)
        offsets = None if bags.offsets is None else self.windows.operand(bags.offsets)
        weights = None if bags.weights is None else self.windows.operand(bags.weights)
        return {
            "Element": STORAGE_TYPES[table.dtype],
            "Id": STORAGE_TYPES[ids.dtype],
            "Offset": STORAGE_TYPES[DType.I64 if offsets is None else offsets.dtype],
            "MODE": f"BagMode=BagMode::{bags.options.mode}",
            "HAS_OFFSETS": offsets is not None,
            "INCLUDE_LAST_OFFSET": bags.options.include_last_offset,
            "HAS_PADDING": bags.options.padding_idx >= 0,
            "HAS_WEIGHTS": weights is not None,
            "TABLE_ROW": f"long long={table.strides[0]}",
            "TABLE_COLUMN": f"long long={table.strides[1]}",
            "ID_STRIDE": f"long long={ids.strides[-1]}",
            "OFFSET_STRIDE": f"long long={offsets.strides[0] if offsets else 0}",
            "WEIGHT_BAG": f"long long={weights.strides[0] if weights and offsets is None else 0}",
            "WEIGHT_STRIDE": f"long long={weights.strides[-1] if weights else 0}",
            "IN_FLIGHT": rows_in_flight(bags),
        }

    def struct(self, kind: dict[str, Constant], number: int) -> list[str]:
        """The struct of one kind."""
        pack, y = self.layout.pack, self.y
        is_packed = y.strides[-1] == 1 and y.pack(y.shape[-1], y.strides[:-1], pack) == pack
        types = {alias: str(kind.pop(alias)) for alias in ("Element", "Id", "Offset")}
        constants = kind | {
            "VECTOR": pack,
            "Y_COLUMN": f"long long={y.strides[-1]}",
            "Y_IS_PACKED": is_packed,
        }
        return constants_struct(f"{self.name}_kind_{number}", types, constants)

    def source(self, tables: tuple[Bags, ...], numbers: list[int]) -> list[str]:
        """Statements that make `source` that of the table `table`; `numbers` are the kinds of the tables."""
        rows = [self._initialiser(bags, number) for bags, number in zip(tables, numbers, strict=True)]
        if len(tables) == 1:
            return [f"const BagSource source = {rows[0]};"]
        return ["BagSource source;", *_switch("table", [f"source = {row};" for row in rows])]

    def _source_of_block(self, tables: tuple[Bags, ...], numbers: list[int]) -> list[str]:
        """`table` and `source` by the number of the block: the longest bags begin first, and none is late."""
        if len(self.y.shape) != 3:
            return self.source(tables, numbers)
        order = sorted(range(len(tables)), key=lambda table: -average_length(tables[table]))
        rows = [
            f"table = {table}; source = {self._initialiser(tables[table], numbers[table])};"
            for table in order
        ]
        choice = _switch(f"blockIdx.x / {self.layout.blocks}", rows)
        return ["int table;", "BagSource source;", *choice]

    def _initialiser(self, bags: Bags, kind: int) -> str:
        table, ids = self.windows.operand(bags.table), self.windows.operand(bags.ids)
        optional_windows = (bags.offsets, bags.weights)
        pointers = [
            "nullptr" if node is None else self.windows.operand(node).start for node in optional_windows
        ]
        id_site = self.sites.number_of_bags(bags.ids)
        offset_site = 0 if bags.offsets is None else self.sites.number(bags.offsets, "offset")
        bag_stride = ids.strides[0] if bags.offsets is None else 0
        fields = (
            table.start,
            ids.start,
            *pointers,
            table.shape[0],
            ids.count or ids.shape[-1],
            bag_stride,
            bags.options.padding_idx,
            id_site,
            offset_site,
            kind,
        )
        return f"BagSource{{{', '.join(map(str, fields))}}}"

    def _place(self) -> list[str]:
        """The bag and the columns of a thread."""
        layout = self.layout
        first = f"static_cast<long long>(blockIdx.x % {layout.blocks}) * {layout.threads}"
        group = f"({first} + threadIdx.x) / {layout.lanes}"
        column = f"threadIdx.x % {layout.lanes} * {layout.pack}"
        lines = [f"const long long group = {group};"]
        if layout.slabs == 1:
            return [*lines, "const long long bag = group;", f"const int column = {column};"]
        slab = f"static_cast<int>(group % {layout.slabs}) * {layout.lanes * layout.pack}"
        return [
            *lines,
            f"const long long bag = group / {layout.slabs};",
            f"const int column = {slab} + {column};",
        ]

    def _target(self) -> str:
        """Where a thread writes."""
        terms = [("bag", self.y.strides[0]), ("column", self.y.strides[-1])]
        if len(self.y.strides) == 3:
            terms.insert(1, ("static_cast<long long>(table)", self.y.strides[1]))
        return f"{self.y.element}* const y = {offset_by(self.y.start, *terms)};"

    def run(self, kinds: int, bags: int) -> list[str]:
        """Calls of the stage for `bag` of `bags` and `column`, to `y`: that of the table's kind."""
        arguments = f"source, bag, {bags}, column, column == 0, y, faults"
        calls = [f"{self.function}<{self.name}_kind_{kind}>::run({arguments});" for kind in range(kinds)]
        if kinds == 1:
            return calls
        return _switch("source.kind", calls)
