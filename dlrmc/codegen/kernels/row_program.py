"""The `row_program` kernel: a region of row-local ops on tiles of rows, every intermediate in shared memory.

A block works on one tile. The body is cut down to the tile's rows and split into stages, each of which all
threads of the block run; stages that do not depend on each other share a phase, in which each begins with
other warps; a barrier stands between phases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dlrmc.codegen.constant_tables import ConstantTables
from dlrmc.codegen.fault_record import END_OF_BLOCK
from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.tile_text import indented, tile_rows
from dlrmc.codegen.rows.attention_stage import emit_attention_stage
from dlrmc.codegen.rows.bag_stage import emit_bag_stage
from dlrmc.codegen.rows.layout import PlacedTile, anchor_of
from dlrmc.codegen.rows.linear_stage import emit_linear_stage
from dlrmc.codegen.rows.map_stage import emit_copy, emit_map_stage, emit_store
from dlrmc.codegen.rows.product_stages import emit_bmm_stage, emit_pairwise_stage
from dlrmc.codegen.rows.quantized_stage import emit_quantized_stage
from dlrmc.codegen.rows.stage_text import TENSOR_INCLUDES, StageContext, StageText
from dlrmc.codegen.rows.tf32_values import ROUNDED_INCLUDE, tf32_factors
from dlrmc.codegen.rows.tile_plan import TilePlan, plan_tile
from dlrmc.codegen.rows.tile_windows import TilePlaces
from dlrmc.codegen.rows.weight_copies import WeightCopies
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.codegen.signature import as_array, build_signature, ir_comment
from dlrmc.codegen.source import KernelContext, KernelSource
from dlrmc.ir.bag_tables import BAG_GROUP_OPS
from dlrmc.ir.graph import Graph, Node

DEFAULT_THREADS = 512


class RowProgram(KernelImpl):
    """Body: row-local ops only, of f32 and integers; the kernel's `batch` is the number of rows."""

    name = "row_program"

    def check(self, body: Graph) -> None:
        if not body.outputs:
            raise self.refuse("results", "no results", "at least one")

    def emit(self, kernel: Node, context: KernelContext) -> KernelSource:
        self.check(kernel.body)
        threads = kernel.attributes.int("threads") or DEFAULT_THREADS
        return _Emission(kernel, context, plan_tile(kernel, context, threads), threads).source()


class _Emission:
    def __init__(self, kernel: Node, context: KernelContext, plan: TilePlan, threads: int) -> None:
        self._kernel = kernel
        self._context = context
        self._tile = plan.tile
        self._layout = plan.layout
        self._threads = threads
        self._grid = plan.grid
        signature = build_signature(kernel.body, context, has_faults=True)
        self._stages = StageContext(
            name=context.name,
            threads=threads,
            places=TilePlaces(plan.tile, plan.layout, context, signature, plan.rounded),
            tables=ConstantTables(context.name),
            sites=FaultSites(kernel.body, context),
            precision=context.precision,
        )

    def source(self) -> KernelSource:
        """The kernel."""
        phases = [self._phase(number) for number in range(self._layout.phase_count + 1)]
        phases = [phase for phase in phases if phase]
        texts = [text for phase in phases for text in phase]
        sites = self._stages.sites.sites
        signature = build_signature(self._kernel.body, self._context, has_faults=bool(sites))
        if self._chooses_pointers:
            signature = as_array(signature)
        definitions = [line for text in texts for line in text.definitions]
        pointers = [*self._stages.places.slot_reads, *self._stages.places.rounded_pointers]
        statements = [*self._tiles(phases), *(END_OF_BLOCK if sites else ())]
        used = _names([*pointers, *statements])
        body = [
            *(read for name, read in signature.pointer_reads if name in used),
            "extern __shared__ __align__(16) unsigned char dlrmc_shared[];",
            *pointers,
            *(buffer for name, buffer in self._buffers() if name in used),
            *statements,
        ]
        lines = [
            ir_comment(self._kernel),
            *self._stages.tables.definitions,
            *definitions,
            signature.head(self._context.name, self._threads),
            *indented(body),
            "}",
        ]
        includes = tuple(dict.fromkeys(name for text in texts for name in text.includes))
        rounding = (ROUNDED_INCLUDE,) if self._stages.places.rounded_pointers else ()
        return KernelSource(
            self._context.name,
            "\n".join(lines),
            ("kernel_pointers.cuh", "views.cuh", "weights.cuh", *rounding, *includes),
            self._grid,
            self._threads,
            self._layout.shared_bytes,
            signature.params,
            sites,
            self._stages.tensor_products if any(name in TENSOR_INCLUDES for name in includes) else "",
            tf32_factors=tf32_factors(self._tile, self._context.precision),
        )

    @property
    def _chooses_pointers(self) -> bool:
        """Whether threads choose among the kernel's pointers by number."""
        return any(anchor_of(stage).is_op(*BAG_GROUP_OPS) for stage in self._layout.scratch)

    def _buffers(self) -> Iterator[tuple[str, str]]:
        """The name and the declaration of every buffer in shared memory."""
        for buffer in self._layout.buffers:
            element = STORAGE_TYPES[buffer.dtype]
            place = f"reinterpret_cast<{element}*>(dlrmc_shared + {buffer.offset_bytes})"
            yield buffer.name, f"{element}* const {buffer.name} = {place};"

    def _phase(self, number: int) -> list[StageText]:
        """The stages of one phase: zeros and copies first, then by order in the graph."""
        layout, context = self._layout, self._stages
        texts: list[StageText] = []
        if number == 0:
            texts.extend(_zeros(placed, context) for placed in layout.placed if placed.tile.padding)
        texts.extend(emit_copy(copy, context) for copy in layout.copies if copy.phase == number)
        for stage in self._tile.graph.nodes:
            if stage.is_op("kernel") and layout.phases[stage] == number:
                texts.append(self._stage(stage))
            if self._is_stored_after(stage, number):
                texts.append(emit_store(stage, context))
        return texts

    def _is_stored_after(self, stage: Node, number: int) -> bool:
        """Whether a result that is yielded and also read by other stages is stored in this phase."""
        is_returned = any(output is stage for output in self._tile.graph.outputs)
        return is_returned and stage in self._layout.homes and self._layout.phases[stage] == number - 1

    def _stage(self, stage: Node) -> StageText:
        tiles, anchor, context = self._layout.tiles[stage], anchor_of(stage), self._stages
        match stage.attributes.str("impl"):
            case "linear":
                return emit_linear_stage(stage, anchor, tiles[0], context)
            case "pairwise_dot":
                return emit_pairwise_stage(stage, anchor, tiles[0], context)
            case "bmm":
                return emit_bmm_stage(stage, anchor, (tiles[0], tiles[1]), context)
            case "attention":
                return emit_attention_stage(stage, context)
            case "embedding_bag":
                return emit_bag_stage(stage, anchor, context)
            case "quantized_bag":
                return emit_quantized_stage(stage, anchor, context)
            case _:
                return emit_map_stage(stage, context)

    def _tiles(self, phases: Sequence[Sequence[StageText]]) -> Iterator[str]:
        """The block's tiles: one, or all in steps of the grid."""
        for text in (text for phase in phases for text in phase if text.prologue):
            yield from ["{", *indented(text.prologue), "}"]
        rows = self._tile.rows
        if self._tile.count == self._grid:
            early_bytes = sum(text.early_bytes for phase in phases for text in phase)
            yield from tile_rows(self._tile.batch, rows)
            yield from self._statements(phases, WeightCopies(self._stages, early_bytes), has_copies=True)
            return
        # The loop is for tiles: weights are copied before the first.
        copies = WeightCopies(self._stages, 0)
        yield from (*copies.first, *copies.soon, *copies.late)
        yield f"for (int tile = blockIdx.x; tile < {self._tile.count}; tile += {self._grid}) {{"
        yield from indented(tile_rows(self._tile.batch, rows, "tile"))
        yield from indented([*self._statements(phases, copies, has_copies=False), "__syncthreads();"])
        yield "}"

    def _statements(
        self, phases: Sequence[Sequence[StageText]], copies: WeightCopies, *, has_copies: bool
    ) -> Iterator[str]:
        """One tile. Ids and rows are asked for first: copies of weights are many and would hold them up."""
        if has_copies:
            yield from copies.first
        for phase in phases:
            for text in phase:
                yield from text.early
        if has_copies:
            yield from copies.soon
        for number, phase in enumerate(phases):
            if number:
                yield from copies.enter(number)
            if has_copies and number == 1:
                yield from copies.behind_loads
            warps = 0
            for text in phase:
                turn = warps % (self._threads // WARP_LANES) * WARP_LANES
                yield "{"
                if "thread" in _names(text.statements):
                    yield from indented([_thread(turn, self._threads)])
                yield from indented(text.statements)
                yield "}"
                warps += text.warps
            if has_copies and number == 0:
                yield from copies.late


def _names(lines: Sequence[str]) -> set[str]:
    """All words of the text: what is not among them need not be declared."""
    return set(re.findall(r"\w+", "\n".join(lines)))


def _thread(turn: int, threads: int) -> str:
    """The remainder tells the compiler the range of numbers: it counts turns and divides by shifts then."""
    if not turn:
        return f"const int thread = threadIdx.x % {threads};"
    return f"const int thread = (threadIdx.x + {threads - turn}) % {threads};"


def _zeros(placed: PlacedTile, context: StageContext) -> StageText:
    """The zeros that pad an operand tile."""
    element = STORAGE_TYPES[placed.buffer.dtype]
    statements: list[str] = []
    for pad in placed.tile.padding:
        view = f"TileView<{element}, {pad.row_stride}, {pad.item_stride}>{{{placed.buffer.name}}}"
        function = f"zero_columns<{pad.rows}, {pad.items}, {pad.begin}, {pad.end}>"
        statements.append(f"{function}({view}, thread, {context.threads});")
    return StageText((), statements, ("views.cuh",), 1)
