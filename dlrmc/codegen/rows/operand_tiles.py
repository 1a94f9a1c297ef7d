"""Which operands a stage wants in shared memory, and how they must stand there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlrmc.codegen.kernels.sizes import odd_packs, power_of_two_at_least, round_up
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Node
from dlrmc.ir.op import many, one
from dlrmc.ir.strided import packed_strides, reshape_strides

PACK = 4


@dataclass(frozen=True, slots=True)
class Part:
    """One operand of an operand tile.

    Args:
        value: in the body of the stage; its element (i, j, ...) stands at `offset + i*strides[0] + ...`.
        offset: in elements.
        strides: in elements.
    """

    value: Node
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Padding:
    """Columns `begin` to `end` of each of `items` in each of `rows` must be zero; strides in elements."""

    begin: int
    end: int
    rows: int
    row_stride: int
    items: int
    item_stride: int


@dataclass(frozen=True, slots=True)
class OperandTile:
    """A buffer in shared memory that one stage reads.

    Args:
        role: which of the stage's operands it is: "x", "a", "b".
        parts: what is read into it.
        padding: what must be zero besides.
        elements: its size.
        strides: of the dimensions that the stage knows: rows first.
    """

    role: str
    parts: tuple[Part, ...]
    padding: tuple[Padding, ...]
    elements: int
    strides: tuple[int, ...]


def operand_tiles(anchor: Node, rows: int) -> tuple[OperandTile, ...]:
    """The operand tiles of a stage whose body is about `anchor`, for a tile of `rows` rows."""
    match anchor.op.name:
        case "linear":
            return (_columns_tile(many(anchor.operands[0])),)
        case "pairwise_dot":
            return (_features_tile(many(anchor.operands[0])),)
        case "bmm":
            return (_matrix_tile(anchor, 0), _matrix_tile(anchor, 1))
        case _:
            return ()


def _columns_tile(parts: Sequence[Node]) -> OperandTile:
    """[rows, K]: the parts side by side, padded with zeros to whole packs."""
    rows = padded_rows(parts[0].type.numel // parts[0].shape[-1])
    width = sum(part.shape[-1] for part in parts)
    stride = odd_packs(width)
    placed: list[Part] = []
    column = 0
    for part in parts:
        placed.append(Part(part, column, _row_strides(part.shape, part.type.rank - 1, stride)))
        column += part.shape[-1]
    padding = _padding(width, rows, stride, 1, 0)
    return OperandTile("x", tuple(placed), padding, rows * stride, (stride,))


def _features_tile(parts: Sequence[Node]) -> OperandTile:
    """[rows, F, D]: the parts' features one after the other, each padded with zeros to whole packs."""
    rows, depth = parts[0].shape[0], parts[0].shape[-1]
    feature_stride = odd_packs(depth)
    features = sum(part.shape[1] if part.type.rank == 3 else 1 for part in parts)
    # A stage reads blocks of up to PACK features, past the last one too.
    row_stride = odd_packs(round_up(features, PACK) * feature_stride)
    placed: list[Part] = []
    feature = 0
    for part in parts:
        inner = (feature_stride, 1) if part.type.rank == 3 else (1,)
        placed.append(Part(part, feature * feature_stride, (row_stride, *inner)))
        feature += part.shape[1] if part.type.rank == 3 else 1
    padding = _padding(depth, rows, row_stride, features, feature_stride)
    return OperandTile("x", tuple(placed), padding, rows * row_stride, (row_stride, feature_stride))


def _matrix_tile(anchor: Node, place: int) -> OperandTile:
    """[rows, items, K] with K contiguous, whichever way the operand is stored."""
    value = one(anchor.operands[place])
    is_stored_by_k = anchor.attributes.bool("trans_a") if place == 0 else not anchor.attributes.bool("trans_b")
    rows = value.shape[0]
    items, depth = value.shape[1:][::-1] if is_stored_by_k else value.shape[1:]
    item_stride = odd_packs(depth)
    row_stride = odd_packs(round_up(items, PACK) * item_stride)
    strides = (row_stride, 1, item_stride) if is_stored_by_k else (row_stride, item_stride, 1)
    padding = _padding(depth, rows, row_stride, items, item_stride)
    parts = (Part(value, 0, strides),)
    return OperandTile("ab"[place], parts, padding, rows * row_stride, (row_stride, item_stride))


def _padding(width: int, rows: int, row_stride: int, items: int, item_stride: int) -> tuple[Padding, ...]:
    """Zeros behind the `width` elements of each item, up to whole packs."""
    begin, end = width, round_up(width, PACK)
    return () if begin == end else (Padding(begin, end, rows, row_stride, items, item_stride),)


def padded_rows(rows: int) -> int:
    """Rows that an x tile must hold for blocks of 1, 2, 4 or 8 rows to stay inside of it."""
    return power_of_two_at_least(rows) if rows <= 8 else round_up(rows, 8)


def _row_strides(shape: tuple[int, ...], split: int, stride: int) -> tuple[int, ...]:
    """Strides of a value seen as a matrix: dimensions before `split` number its rows, `stride` apart."""
    outer = packed_strides(shape[:split])
    return (*(each * stride for each in outer), *packed_strides(shape[split:]))


def home_strides(value: Node, part: Part) -> tuple[int, ...] | None:
    """The strides at which the stage that computes `value` may write it straight into its part of a tile.

    Args:
        value: a result of another stage.
        part: whose value is `value` itself, or all of it in another shape.

    Returns:
        None where the part's strides cannot show the value in its own shape.
    """
    if value.type.numel != part.value.type.numel:
        raise CodegenError(f"%{value.name}", found=str(value.type), expected=f"all of {part.value.type}")
    return reshape_strides(part.value.shape, part.strides, value.shape)
