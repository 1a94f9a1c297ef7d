"""Checks that the type rules of many ops share, each raising the op's own TypeRuleError."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dlrmc.errors import BoundsError
from dlrmc.ir.op import Array, Op
from dlrmc.ir.types import DType, TensorType

INDEX_DTYPES = (DType.I64, DType.I32)


def listed(values: Sequence[int]) -> str:
    """The sizes as a type prints them, such as [2,3]."""
    return f"[{','.join(map(str, values))}]"


def require_float(op: Op, name: str, type: TensorType) -> None:
    """The operand is f64, f32, f16 or bf16."""
    if not type.dtype.is_float:
        raise op.fail(f"{name} is {type}", "a floating-point dtype", "insert a cast")


def require_number(op: Op, name: str, type: TensorType) -> None:
    """The operand is of a floating-point or an integer dtype."""
    if type.dtype is DType.BOOL:
        raise op.fail(f"{name} is {type}", "a floating-point or integer dtype", "insert a cast")


def require_integer(op: Op, name: str, type: TensorType) -> None:
    """The operand is of an integer dtype; bool is none."""
    if not type.dtype.is_integer:
        raise op.fail(f"{name} is {type}", "an integer dtype", "bool has logical ops; cast a float")


def require_index(op: Op, name: str, type: TensorType) -> None:
    """The operand holds ids or offsets: i64 or i32."""
    if type.dtype not in INDEX_DTYPES:
        hint = "turn a mask into indices first" if type.dtype is DType.BOOL else "insert a cast"
        raise op.fail(f"{name} is {type}", "dtype i64 or i32", hint)


def require_rank(op: Op, name: str, type: TensorType, rank: int) -> None:
    """The operand has that many dimensions."""
    if type.rank != rank:
        raise op.fail(f"{name} is {type}", f"{rank} dimension{'' if rank == 1 else 's'}")


def require_shape(op: Op, name: str, type: TensorType, shape: tuple[int, ...]) -> None:
    """The operand has that shape."""
    if type.shape != shape:
        raise op.fail(f"{name} is {type}", f"shape {listed(shape)}")


def require_same_dtype(op: Op, types: Sequence[TensorType]) -> DType:
    """The operands have one dtype, which is returned."""
    if any(type.dtype is not types[0].dtype for type in types):
        raise op.fail(f"operands {', '.join(map(str, types))}", "equal dtypes", "insert a cast")
    return types[0].dtype


def require_dim(op: Op, dim: int, rank: int) -> None:
    """The dimension is one of `rank`, counted from the front."""
    if not 0 <= dim < rank:
        raise op.fail(f"dim={dim}", f"0 <= dim < {rank}", "negative dims are counted from the front")


def require_dims(op: Op, dims: tuple[int, ...], rank: int) -> None:
    """The dimensions are distinct, sorted, and of `rank`, counted from the front."""
    if list(dims) != sorted(set(dims)) or any(not 0 <= dim < rank for dim in dims):
        raise op.fail(f"dims={listed(dims)}", f"distinct sorted dims in 0 <= dim < {rank}")


def broadcast(op: Op, types: Sequence[TensorType]) -> tuple[int, ...]:
    """The shape that the operands have together, by NumPy's rule."""
    try:
        return tuple(int(size) for size in np.broadcast_shapes(*(type.shape for type in types)))
    except ValueError:
        shapes = ", ".join(listed(type.shape) for type in types)
        raise op.fail(f"shapes {shapes}", "shapes that broadcast together") from None


def require_numel(op: Op, type: TensorType, shape: tuple[int, ...]) -> None:
    """The shape holds as many elements as the operand."""
    if math.prod(shape) != type.numel or any(size < 0 for size in shape):
        expected = f"a shape of {type.numel} elements for {type}"
        raise op.fail(f"shape={listed(shape)} of {math.prod(shape)} elements", expected)


def check_bounds(place: str, name: str, values: Array, low: int, high: int) -> None:
    """Every value is in low <= value < high.

    Raises:
        BoundsError: naming the operand, the first bad position, its value and the limit.
    """
    bad = np.argwhere((values < low) | (values >= high))
    if not len(bad):
        return
    position = tuple(int(i) for i in bad[0])
    at = listed(position) if position else ""
    raise BoundsError(
        place, found=f"{name}{at} = {int(values[position])}", expected=f"{low} <= value < {high}"
    )
