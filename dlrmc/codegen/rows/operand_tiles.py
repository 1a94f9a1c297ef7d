"""Which operands a stage wants in shared memory, and how they must stand there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlrmc.codegen.kernels.sizes import odd_packs, power_of_two_at_least, round_up
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Node
from dlrmc.ir.op import many, one
from dlrmc.ir.strided import packed_strides, reshape_strides
from dlrmc.ir.types import DType

PACK = 4
# What one tensor-core product takes of rows and, in packs, of k.
TENSOR_ROWS = 16
TENSOR_DEPTH = 16
# Below this many multiply-adds a tile, splitting and meeting cost more than they save.
TENSOR_PRODUCTS = 24 * 1024
TENSOR_PAIR_PRODUCTS = 64 * 1024
# A warp keeps sums of 16 features with all others in registers.
MOST_TENSOR_FEATURES = 68
# Views that show all elements of a value once.
REORDERING_VIEWS = ("view", "permute")


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


def operand_tiles(anchor: Node) -> tuple[OperandTile, ...]:
    """The operand tiles of a stage whose body is about `anchor`."""
    match anchor.op.name:
        case "linear":
            return (_columns_tile(many(anchor.operands[0]), uses_tensor_cores(anchor)),)
        case "pairwise_dot":
            return (_features_tile(many(anchor.operands[0]), pairs_on_tensor_cores(anchor)),)
        case "bmm":
            return (_matrix_tile(anchor, 0), _matrix_tile(anchor, 1))
        case _:
            return ()


def uses_tensor_cores(anchor: Node) -> bool:
    """Whether a `linear` of a tile is wide and tall enough to be worth tensor cores (linear_tensor.cuh)."""
    rows = anchor.type.numel // anchor.shape[-1]
    width = sum(part.shape[-1] for part in many(anchor.operands[0]))
    is_large = rows >= TENSOR_ROWS // 2 and anchor.shape[-1] >= 16 and width >= 48
    return anchor.type.dtype is DType.F32 and is_large and rows * anchor.shape[-1] * width >= TENSOR_PRODUCTS


def tensor_stride(width: int) -> int:
    """Elements from row to row for packs of 16 k and reads free of bank conflicts (linear_tensor.cuh)."""
    stride = round_up(width, TENSOR_DEPTH)
    return stride if stride % 32 else stride + 16


def _columns_tile(parts: Sequence[Node], is_tensor: bool) -> OperandTile:
    """[rows, K]: the parts side by side, padded with zeros to whole packs."""
    rows = parts[0].type.numel // parts[0].shape[-1]
    width = sum(part.shape[-1] for part in parts)
    rows = round_up(rows, TENSOR_ROWS) if is_tensor else padded_rows(rows)
    stride = tensor_stride(width) if is_tensor else odd_packs(width)
    pack = TENSOR_DEPTH if is_tensor else PACK
    placed: list[Part] = []
    column = 0
    for part in parts:
        placed.append(Part(part, column, _row_strides(part.shape, part.type.rank - 1, stride)))
        column += part.shape[-1]
    padding = _padding(width, rows, stride, 1, 0, pack)
    return OperandTile("x", tuple(placed), padding, rows * stride, (stride,))


def pairs_on_tensor_cores(anchor: Node) -> bool:
    """Whether a `pairwise_dot` of a tile is worth tensor cores (pairwise_tensor.cuh)."""
    parts = many(anchor.operands[0])
    rows, depth = parts[0].shape[0], parts[0].shape[-1]
    features = feature_count(parts)
    is_large = rows * features * features * depth >= TENSOR_PAIR_PRODUCTS
    return anchor.type.dtype is DType.F32 and is_large and 12 <= features <= MOST_TENSOR_FEATURES


def feature_count(parts: Sequence[Node]) -> int:
    """How many features the parts of a pairwise_dot hold together."""
    return sum(part.shape[1] if part.type.rank == 3 else 1 for part in parts)


def _features_tile(parts: Sequence[Node], is_tensor: bool) -> OperandTile:
    """[rows, F, D]: the parts' features one after the other, each padded with zeros to whole packs."""
    rows, depth = parts[0].shape[0], parts[0].shape[-1]
    features = feature_count(parts)
    feature_stride = tensor_stride(depth) if is_tensor else odd_packs(depth)
    # A stage without tensor cores reads blocks of up to PACK features, past the last one too.
    read = (features if is_tensor else round_up(features, PACK)) * feature_stride
    row_stride = features * feature_stride if is_tensor else odd_packs(read)
    pack = TENSOR_DEPTH if is_tensor else PACK
    placed: list[Part] = []
    feature = 0
    for part in parts:
        inner = (feature_stride, 1) if part.type.rank == 3 else (1,)
        placed.append(Part(part, feature * feature_stride, (row_stride, *inner)))
        feature += part.shape[1] if part.type.rank == 3 else 1
    padding = _padding(depth, rows, row_stride, features, feature_stride, pack)
    elements = (rows - 1) * row_stride + max(read, row_stride)
    return OperandTile("x", tuple(placed), padding, elements, (row_stride, feature_stride))


def _matrix_tile(anchor: Node, place: int) -> OperandTile:
    """[rows, items, K] with K contiguous, whichever way the operand is stored."""
    value = one(anchor.operands[place])
    attributes = anchor.attributes
    is_stored_by_k = attributes.bool("trans_a") if place == 0 else not attributes.bool("trans_b")
    rows = value.shape[0]
    items, depth = value.shape[1:][::-1] if is_stored_by_k else value.shape[1:]
    item_stride = odd_packs(depth)
    row_stride = odd_packs(round_up(items, PACK) * item_stride)
    strides = (row_stride, 1, item_stride) if is_stored_by_k else (row_stride, item_stride, 1)
    padding = _padding(depth, rows, row_stride, items, item_stride)
    parts = (Part(value, 0, strides),)
    return OperandTile("ab"[place], parts, padding, rows * row_stride, (row_stride, item_stride))


def _padding(
    width: int, rows: int, row_stride: int, items: int, item_stride: int, pack: int = PACK
) -> tuple[Padding, ...]:
    """Zeros behind the `width` elements of each item, up to whole packs."""
    begin, end = width, round_up(width, pack)
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
        part: whose value is `value` itself, or all of it in another shape or with its dimensions reordered.

    Returns:
        None where the part's strides cannot show the value in its own shape.
    """
    if value.type.numel != part.value.type.numel:
        raise CodegenError(f"%{value.name}", found=str(value.type), expected=f"all of {part.value.type}")
    node, strides = part.value, part.strides
    while node.is_op(*REORDERING_VIEWS):
        below = node.inputs[0]
        shown = _strides_below(node, strides, below.shape)
        if shown is None:
            return None
        node, strides = below, shown
    return reshape_strides(node.shape, strides, value.shape)


def _strides_below(view: Node, strides: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where the elements of what a view shows stand if those of the view stand at these strides."""
    if view.is_op("view"):
        return reshape_strides(view.shape, strides, shape)
    perm = view.attributes.ints("perm")
    return tuple(strides[perm.index(axis)] for axis in range(len(perm)))
