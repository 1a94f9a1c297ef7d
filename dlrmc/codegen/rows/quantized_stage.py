"""The stage of bags over tables of bytes or nibbles, by QuantizedBag of quantized_bag.cuh."""

from __future__ import annotations

from dlrmc.codegen.kernels.embedding_bag import BagLayout
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.quantized_bag import INCLUDE, QuantizedEmission, codes_of_a_lane
from dlrmc.codegen.kernels.sizes import Constant, power_of_two_at_least
from dlrmc.codegen.kernels.tile_text import indented, offset_by
from dlrmc.codegen.kernels.windows import Window
from dlrmc.codegen.rows.bag_sources import source_numbers, source_places, write_sources
from dlrmc.codegen.rows.bag_unit import table_unit
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.ir.bag_tables import bags_of
from dlrmc.ir.graph import Node


def emit_quantized_stage(stage: Node, anchor: Node, context: StageContext) -> StageText:
    """The text of one stage. Ids and offsets are read by the row's number in the batch."""
    places, tables = context.places, bags_of(anchor)
    windows = TileWindows(places, stage, reads_whole=True)
    y, pack = windows.result(anchor), codes_of_a_lane(anchor)
    entries, columns = anchor.shape[0], anchor.shape[-1]
    lanes = power_of_two_at_least(-(-columns // pack))
    name = f"{context.name}_{stage.name}"
    layout = BagLayout(pack, lanes, 1, context.threads, 1)
    bits = anchor.attributes.int("bits")
    emission = QuantizedEmission(name, places.signature, windows, context.sites, y, layout, bits)
    kinds: dict[tuple[tuple[str, Constant], ...], int] = {}
    numbers = [kinds.setdefault(tuple(emission.kind(bags).items()), len(kinds)) for bags in tables]
    definitions = [line for kind, number in kinds.items() for line in emission.struct(dict(kind), number)]
    per_row = entries // places.tile.rows
    bag_count = places.tile.batch * per_row
    sources, prologue = context.layout.scratch.get(stage), []
    if sources is not None and len(kinds) == 1:
        definitions += source_numbers(f"{name}_numbers", tables, windows, context.sites, bag_count)
        definitions += source_places(f"{name}_places", tables, windows)
        unit = table_unit(len(tables), context.threads)
        names = f"{name}_numbers", f"{name}_places"
        prologue = [
            *write_sources(sources.name, names, tables, windows, unit),
            "__syncthreads();",
        ]
        pointer = f"reinterpret_cast<const BagSource*>({sources.name})"
        source = [f"const BagSource& source = {pointer}[table];"]
    else:
        source = emission.source(tables, numbers)
    items = len(tables) * entries * lanes
    body = [*source, *_bag(y, per_row), *emission.run(len(kinds), bag_count)]
    statements = [
        f"for (int item = thread; item < {items}; item += {context.threads}) {{",
        *indented([*_item(y, entries, layout, per_row), *body]),
        "}",
    ]
    return StageText(definitions, statements, (INCLUDE,), -(-items // WARP_LANES), prologue)


def _item(y: Window, entries: int, layout: BagLayout, per_row: int) -> list[str]:
    """The table, row and first column of an item of the loop."""
    return [
        *([f"const int table = item / {entries * layout.lanes};"] if len(y.shape) == 3 else []),
        f"const int row = item / {layout.lanes} % {entries};",
        f"const int column = item % {layout.lanes} * {layout.pack};",
        f"if (row >= rows * {per_row} || column >= {y.shape[-1]}) continue;",
    ]


def _bag(y: Window, per_row: int) -> list[str]:
    """The bag of an item in the whole batch, and where its columns go."""
    return [
        f"const long long bag = {offset_by('row', ('first_row', per_row))};",
        f"{y.element}* const y = {_place(y)};",
    ]


def _place(y: Window) -> str:
    """Where an item's columns go."""
    terms = [("row", y.strides[0]), ("column", y.strides[-1])]
    if len(y.strides) == 3:
        terms.insert(1, ("table", y.strides[1]))
    return offset_by(y.start, *terms)
