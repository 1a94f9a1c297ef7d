"""What embedding bags share: options, the type rule for one table, and the reduction of one table's bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlrmc.errors import BoundsError
from dlrmc.ir.attributes import Attribute, Attributes
from dlrmc.ir.op import Array, Op
from dlrmc.ir.ops.numeric import fused_multiply_add, quiet, rounded
from dlrmc.ir.ops.rules import (
    check_bounds,
    require_float,
    require_index,
    require_rank,
    require_same_dtype,
    require_shape,
)
from dlrmc.ir.types import DType, TensorType

MODES = ("sum", "mean", "max")


@dataclass(frozen=True, slots=True)
class BagOptions:
    """How the bags of one table are formed and reduced.

    Attributes:
        mode: one of MODES.
        include_last_offset: whether the offsets end with the end of the last bag.
        padding_idx: the id that is skipped; -1 for none.
    """

    mode: str = "sum"
    include_last_offset: bool = False
    padding_idx: int = -1


def group_options(attributes: Attributes, count: int) -> tuple[BagOptions, ...]:
    """The options of each table of an `embedding_bag_group`; an empty list of one kind stands for defaults.

    Args:
        attributes: those of the node.
        count: the number of tables, which each list that is not empty has as its length.
    """
    default = BagOptions()
    modes = attributes.strs("modes") or (default.mode,) * count
    ends = attributes.bools("include_last_offset") or (default.include_last_offset,) * count
    paddings = attributes.ints("padding_idx") or (default.padding_idx,) * count
    return tuple(BagOptions(*each) for each in zip(modes, ends, paddings, strict=True))


def group_attributes(options: Sequence[BagOptions]) -> dict[str, Attribute]:
    """The attributes of an `embedding_bag_group` with these options; a list of defaults is left empty."""
    default = BagOptions()
    modes = tuple(option.mode for option in options)
    ends = tuple(option.include_last_offset for option in options)
    paddings = tuple(option.padding_idx for option in options)
    return {
        "modes": () if set(modes) <= {default.mode} else modes,
        "include_last_offset": () if not any(ends) else ends,
        "padding_idx": () if set(paddings) <= {default.padding_idx} else paddings,
    }


@dataclass(frozen=True, slots=True)
class BagNames:
    """What errors call the op and the operands of one table."""

    op: str
    ids: str = "ids"
    offsets: str = "offsets"


def infer_bags(
    op: Op,
    table: TensorType,
    ids: TensorType,
    offsets: TensorType | None,
    weights: TensorType | None,
    options: BagOptions,
) -> TensorType:
    """The type [B, D] of the bags of one table.

    Raises:
        TypeRuleError: where an operand or an option does not fit.
    """
    require_float(op, "table", table)
    require_rank(op, "table", table, 2)
    require_index(op, "ids", ids)
    count = infer_bag_count(op, ids, offsets, options.include_last_offset)
    if weights is not None:
        require_same_dtype(op, (table, weights))
        require_shape(op, "weights", weights, ids.shape)
        if options.mode != "sum":
            raise op.fail(f"weights with mode={options.mode}", "mode=sum")
    if options.mode not in MODES:
        raise op.fail(f"mode={options.mode}", f"one of {', '.join(MODES)}")
    if not -1 <= options.padding_idx < table.shape[0]:
        expected = f"-1 (none) or a row of the table, below {table.shape[0]}"
        raise op.fail(f"padding_idx={options.padding_idx}", expected)
    return table.with_shape((count, table.shape[1]))


def infer_bag_count(op: Op, ids: TensorType, offsets: TensorType | None, include_last_offset: bool) -> int:
    """The number of bags.

    Raises:
        TypeRuleError: where ids or offsets do not fit.
    """
    if offsets is None:
        if ids.rank != 2:
            raise op.fail(f"ids is {ids} without offsets", "2 dimensions, or offsets")
        if include_last_offset:
            raise op.fail("include_last_offset=true without offsets", "offsets")
        return ids.shape[0]
    require_index(op, "offsets", offsets)
    require_rank(op, "offsets", offsets, 1)
    require_rank(op, "ids", ids, 1)
    if include_last_offset and not offsets.shape[0]:
        raise op.fail(f"offsets is {offsets} with include_last_offset", "at least one offset")
    return offsets.shape[0] - int(include_last_offset)


def reduce_bags(
    table: Array,
    ids: Array,
    offsets: Array | None,
    weights: Array | None,
    options: BagOptions,
    names: BagNames,
) -> Array:
    """The bags [B, D] of one table, reduced left to right as torch does on the CPU.

    Sums are sequential in float32 (float64 for an f64 table), with a fused multiply-add where there are
    weights, and rounded to the table's dtype once.

    Raises:
        BoundsError: a malformed offset, or an id of a bag that is no row of the table.
    """
    begins, ends, used = bag_positions(len(table), ids, offsets, options.include_last_offset, names)
    dtype = DType.of_numpy(table.dtype)
    wide: np.dtype[Any] = np.dtype(np.float64 if dtype is DType.F64 else np.float32)
    result = np.zeros((len(begins), table.shape[1]), wide)
    counts = np.zeros((len(begins), 1), wide)
    flat_weights = None if weights is None else weights.reshape(-1, 1).astype(wide)
    with quiet():
        for step in range(int(np.max(ends - begins, initial=0))):
            bags = np.nonzero(begins + step < ends)[0]
            bags = bags[used[begins[bags] + step] != options.padding_idx]
            positions = begins[bags] + step
            rows = table[used[positions]].astype(wide)
            if flat_weights is not None:
                result[bags] = fused_multiply_add(flat_weights[positions], rows, result[bags])
            elif options.mode == "max":
                result[bags] = np.where((counts[bags] == 0) | (rows > result[bags]), rows, result[bags])
            else:
                result[bags] += rows
            counts[bags] += 1
        if options.mode == "mean":
            result /= np.maximum(counts, 1)
        return rounded(result, dtype)


def bag_positions(
    rows: int, ids: Array, offsets: Array | None, include_last_offset: bool, names: BagNames
) -> tuple[Array, Array, Array]:
    """The first position of each bag, the position after its last, and the flat ids that bags use.

    Raises:
        BoundsError: a malformed offset, or an id of a bag that is no row of the table.
    """
    begins, ends = _bounds(ids, offsets, include_last_offset, names)
    used = ids.reshape(-1)[: int(ends[-1]) if len(ends) else 0]
    check_bounds(names.op, names.ids, ids if offsets is None else used, 0, rows)
    return begins, ends, used


def _bounds(
    ids: Array, offsets: Array | None, include_last_offset: bool, names: BagNames
) -> tuple[Array, Array]:
    """The first position and the position after the last of each bag, in the flat ids."""
    if offsets is None:
        count, length = ids.shape
        begins = np.arange(count, dtype=np.int64) * length
        return begins, begins + length
    _check_offsets(offsets, len(ids), names)
    wide = offsets.astype(np.int64)
    if include_last_offset:
        return wide[:-1], wide[1:]
    return wide, np.append(wide[1:], np.int64(len(ids))) if len(wide) else wide


def _check_offsets(offsets: Array, count: int, names: BagNames) -> None:
    if not len(offsets):
        return
    if offsets[0] != 0:
        raise BoundsError(names.op, found=f"{names.offsets}[0] = {int(offsets[0])}", expected="0")
    falls = np.nonzero(offsets[1:] < offsets[:-1])[0]
    if len(falls):
        position = int(falls[0]) + 1
        found = f"{names.offsets}[{position}] = {int(offsets[position])}"
        expected = f"at least {int(offsets[position - 1])}, the offset before it"
        raise BoundsError(names.op, found=found, expected=expected)
    beyond = np.nonzero(offsets > count)[0]
    if len(beyond):
        position = int(beyond[0])
        found = f"{names.offsets}[{position}] = {int(offsets[position])}"
        raise BoundsError(names.op, found=found, expected=f"at most {count}, the number of ids")
