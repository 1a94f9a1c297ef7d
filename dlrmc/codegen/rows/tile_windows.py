"""The operands and results of a stage as windows: onto shared memory, or onto a kernel parameter's tile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dlrmc.codegen.kernels.tile_text import offset_by
from dlrmc.codegen.kernels.windows import Window
from dlrmc.codegen.rows.layout import Layout
from dlrmc.codegen.rows.tf32_values import ROUNDED_TYPE
from dlrmc.codegen.signature import Signature
from dlrmc.codegen.source import KernelContext
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Node
from dlrmc.ir.strided import reshape_strides, resolve_strided
from dlrmc.schedule.row_tiles import Tile

SHARED_ALIGNMENT_BYTES = 16


@dataclass(frozen=True)
class Place:
    """Where a value of the stage graph lives: a pointer, its strides, and the pointer's alignment.

    `count` is the C expression of the number of elements where it comes with the call.
    """

    pointer: str
    strides: tuple[int, ...]
    alignment_bytes: int
    count: str = ""


@dataclass(frozen=True)
class TilePlaces:
    """The places of all values of a tile.

    Args:
        tile: the tile's graph after form-kernels.
        layout: its plan.
        context: of the kernel.
        signature: of the kernel.
        rounded: for each result, whether it is rounded to TF32 as it is stored.
    """

    tile: Tile
    layout: Layout
    context: KernelContext
    signature: Signature
    rounded: tuple[bool, ...]

    def of(self, value: Node) -> Place:
        """Where a stage reads a value: a tile's input from the tile's first row on."""
        if value in self.layout.homes:
            home = self.layout.homes[value]
            pointer = offset_by(home.buffer.name, (str(home.offset), 1)) if home.offset else home.buffer.name
            alignment_bytes = math.gcd(SHARED_ALIGNMENT_BYTES, home.offset * value.type.dtype.size_bytes)
            return Place(pointer, home.strides, alignment_bytes)
        operand = self.tile.operands[value]
        whole = self._operand(operand.operand, self.signature.operand_names[operand.operand])
        step = operand.per_row * whole.strides[0] if operand.role == "rows" else 0
        alignment_bytes = math.gcd(whole.alignment_bytes, step * value.type.dtype.size_bytes)
        return Place(offset_by(whole.pointer, ("first_row", step)), whole.strides, alignment_bytes)

    def has_rows(self, value: Node) -> bool:
        """Whether each row of the batch has entries of its own in a value, and the tile's are known."""
        return value in self.layout.homes or self.tile.operands[value].role == "rows"

    def whole(self, value: Node) -> Place:
        """Where the operand behind a tile's input begins.

        A slot is read where the pointer is used: a hundred tables' pointers would not fit into registers. A
        value that the tile computes itself begins so far before its home that the first row stands there.
        """
        if value in self.layout.homes:
            home = self.of(value)
            step = value.shape[0] // self.tile.rows * home.strides[0]
            alignment_bytes = math.gcd(home.alignment_bytes, step * value.type.dtype.size_bytes)
            return Place(f"{home.pointer} - first_row * {step}", home.strides, alignment_bytes)
        place = self.tile.operands[value].operand
        name = self.signature.operand_names[place]
        return self._operand(place, f"*{name}_slot" if self.context.indirect_operands[place] else name)

    def _operand(self, place: int, pointer: str) -> Place:
        alignments = self.context.operand_alignments
        count = self.context.count(place, self.signature.operand_names[place])
        alignment_bytes = alignments[place] if alignments else 1
        return Place(pointer, self.context.operand_strides[place], alignment_bytes, count)

    @property
    def slot_reads(self) -> tuple[str, ...]:
        """The reads of slots whose pointers are used row by row.

        All stand where they are written: the compiler would move that of a result down to the last phase,
        where the block would wait for it.
        """
        by_rows = {
            self.signature.operand_names[operand.operand]
            for operand in self.tile.operands.values()
            if operand.role == "rows"
        } | set(self.signature.result_names)
        return tuple(
            read.replace(f"*{name}_slot", f"read_slot_early({name}_slot)")
            for read in self.signature.slot_reads
            for name in by_rows
            if f" {name} = " in read
        )

    @property
    def rounded_pointers(self) -> tuple[str, ...]:
        """The pointers through which rounded results are stored."""
        names = zip(self.signature.result_names, self.rounded, strict=True)
        return tuple(
            f"{ROUNDED_TYPE}* const {_rounded_name(name)} = reinterpret_cast<{ROUNDED_TYPE}*>({name});"
            for name, is_rounded in names
            if is_rounded
        )

    def is_rounded(self, stage: Node) -> bool:
        """Whether a stage rounds its result as it stores it."""
        if stage in self.layout.homes:
            return False
        return self.rounded[self.tile.graph.outputs.index(stage)]

    def result(self, stage: Node) -> Place:
        """Where a stage writes its result: its home, or where it is returned."""
        return self.of(stage) if stage in self.layout.homes else self.returned(stage)

    def returned(self, stage: Node) -> Place:
        """The kernel's result that a stage's value is, from the tile's first row on."""
        number = self.tile.graph.outputs.index(stage)
        strides = self.context.result_strides[number]
        per_row = stage.shape[0] // self.tile.rows
        step = per_row * strides[0]
        alignments = self.context.result_alignments
        size_bytes = stage.type.dtype.size_bytes
        alignment_bytes = math.gcd(alignments[number] if alignments else size_bytes, step * size_bytes)
        name = self.signature.result_names[number]
        pointer = _rounded_name(name) if self.rounded[number] else name
        return Place(offset_by(pointer, ("first_row", step)), strides, alignment_bytes)


def _rounded_name(result: str) -> str:
    return f"{result}_{ROUNDED_TYPE}"


class TileWindows:
    """Makes the windows of one stage; the counterpart of `Windows`, which serves standalone kernels."""

    def __init__(self, places: TilePlaces, stage: Node, *, reads_whole: bool = False) -> None:
        """`reads_whole`: operands are read from their beginning, by the row's number in the batch."""
        self._places = places
        self._stage = stage
        self._reads_whole = reads_whole
        find = places.whole if reads_whole else places.of
        self._roots: Mapping[Node, Place] = {inner: find(value) for inner, value in stage.outer.items()}

    def operand(self, node: Node) -> Window:
        """The window through which a value of the stage's body is read.

        Raises:
            CodegenError: where it is no strided window onto an operand of the stage.
        """
        found = resolve_strided(node, {root: place.strides for root, place in self._roots.items()})
        if found is None or found.root not in self._roots:
            raise CodegenError(f"stage %{self._stage.name}", found=repr(node), expected="a strided window")
        place = self._roots[found.root]
        window = Window(
            node.type.dtype,
            place.pointer,
            found.offset,
            found.shape,
            found.strides,
            place.alignment_bytes,
            count=place.count,
        )
        value = self._stage.outer[found.root]
        if not self._reads_whole or not self._places.has_rows(value):
            return window
        return self._by_number_in_batch(window, value.shape[0] // self._places.tile.rows * place.strides[0])

    def _by_number_in_batch(self, window: Window, step: int) -> Window:
        """The window of a tile, made to be read by the number of an entry in the batch.

        Args:
            step: elements from one row of the operand to the next.

        A tile of one row knows no stride of its rows, and the entries of a row need not be followed by those
        of the next one.
        """
        entries = window.shape[0] // self._places.tile.rows
        if entries == 1:
            return replace(window, strides=(step, *window.strides[1:]))
        gap = step - entries * window.strides[0]
        alignment_bytes = math.gcd(window.alignment_bytes, gap * window.dtype.size_bytes)
        pointer = offset_by(window.pointer, ("first_row", gap))
        return replace(window, pointer=pointer, alignment_bytes=alignment_bytes)

    def operand_place(self, node: Node) -> int:
        """The place among the kernel's operands of an input of the stage's body."""
        return self._places.tile.operands[self._stage.outer[node]].operand

    def result(self, anchor: Node) -> Window:
        """The window through which the anchor's value is written.

        Raises:
            CodegenError: where the result's strides do not fit the anchor's shape.
        """
        place = self._places.result(self._stage)
        strides = reshape_strides(self._stage.shape, place.strides, anchor.shape)
        if strides is None:
            raise CodegenError(
                f"stage %{self._stage.name}",
                found=f"strides {list(place.strides)}",
                expected=f"strides that show {anchor.type} without a copy",
            )
        alignment = place.alignment_bytes
        return Window(
            anchor.type.dtype,
            place.pointer,
            0,
            anchor.shape,
            strides,
            alignment,
            is_const=False,
            storage=ROUNDED_TYPE if self._places.is_rounded(self._stage) else "",
        )
