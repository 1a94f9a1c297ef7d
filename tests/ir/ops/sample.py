"""What a sample of an op is, and the arrays that samples are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from dlrmc.ir.attributes import Attribute, Attributes
from dlrmc.ir.op import Array, Op, Operands, check_arity, complete_attributes, map_operands
from dlrmc.ir.ops import find_op
from dlrmc.ir.types import DType, TensorType, parse_tensor_type

FLOATS = (DType.F64, DType.F32, DType.F16, DType.BF16)
INTEGERS = (DType.I64, DType.I32, DType.U8, DType.I8)
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, DType.BOOL)
IDS = (DType.I64, DType.I32)

# Relative to the larger of 1 and the value: a few units in the last place of each dtype.
TOLERANCES = {DType.F64: 1e-13, DType.F32: 1e-6, DType.F16: 1e-3, DType.BF16: 8e-3}


@dataclass(frozen=True)
class Sample:
    """An op on operands with attributes, and the torch function that gives the same.

    Attributes:
        torch: takes the operands as torch tensors, in the structure of the card.
        is_exact: whether the bits are torch's.
        tolerance: in place of that of the dtype.
    """

    op: str
    operands: Operands[Array]
    torch: Callable[..., torch.Tensor]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    is_exact: bool = False
    tolerance: float | None = None

    @property
    def label(self) -> str:
        types = [str(array_type(a)) for a in _flat(self.operands)]
        attributes = [f"{name}={value}" for name, value in self.attributes.items()]
        return f"{self.op}({' '.join(types)}){'{' + ' '.join(attributes) + '}' if attributes else ''}"


@dataclass(frozen=True)
class Bad:
    """Operand types as text (a tuple is a list operand) and attributes that an op refuses; its message."""

    op: str
    operands: tuple[Any, ...]
    message: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


def _flat(operands: Operands[Array]) -> list[Array]:
    flat: list[Array] = []
    map_operands(operands, flat.append)
    return flat


def array_type(array: Array) -> TensorType:
    return TensorType(DType.of_numpy(array.dtype), array.shape)


def infer(op: Op, operands: Operands[TensorType], attributes: Mapping[str, Attribute]) -> TensorType:
    """The op's type rule, behind the checks that Graph.add makes."""
    check_arity(op, operands)
    inferred = op.infer(operands, complete_attributes(op, attributes))
    assert isinstance(inferred, TensorType)
    return inferred


def infer_text(bad: Bad) -> TensorType:
    def parse(operand: Any) -> Any:
        if isinstance(operand, tuple):
            return tuple(parse(item) for item in operand)
        return None if operand is None else parse_tensor_type(operand)

    return infer(find_op(bad.op), parse(bad.operands), bad.attributes)


def evaluate(name: str, operands: Operands[Array], **attributes: Attribute) -> Array:
    """The op's reference."""
    op = find_op(name)
    return op.reference(operands, complete_attributes(op, attributes))


def expression(name: str, arguments: tuple[str, ...], dtype: DType, **attributes: Attribute) -> str:
    """The CUDA expression of an elementwise op whose operands have one dtype."""
    op: Any = find_op(name)
    complete: Attributes = complete_attributes(op, attributes)
    return op.cuda(arguments, (dtype,) * len(arguments), complete)


def to_torch(array: Array) -> torch.Tensor:
    """A copy as a tensor; bf16 goes by its bits, which NumPy and torch do not exchange otherwise."""
    if DType.of_numpy(array.dtype) is DType.BF16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def to_numpy(tensor: torch.Tensor) -> Array:
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(DType.BF16.numpy)
    return tensor.numpy()


def values(dtype: DType, *shape: int, seed: int = 0, low: float = -4.0, high: float = 4.0) -> Array:
    """Numbers in low..high, each from the seed; for unsigned dtypes from 0."""
    random = np.random.default_rng((seed, *shape))
    if dtype is DType.BOOL:
        return np.asarray(random.integers(0, 2, shape) == 1)
    first = max(low, 0.0) if dtype is DType.U8 else low
    numbers = np.asarray(random.uniform(first, high, shape))
    return (np.trunc(numbers) if dtype.is_integer else numbers).astype(dtype.numpy)


def positive(dtype: DType, *shape: int, seed: int = 0) -> Array:
    return values(dtype, *shape, seed=seed, low=0.25)


def ids(dtype: DType, rows: int, *shape: int, seed: int = 0, low: int = 0) -> Array:
    """Ids in low..rows-1."""
    return np.asarray(np.random.default_rng((seed, *shape)).integers(low, rows, shape)).astype(dtype.numpy)


def special(dtype: DType) -> Array:
    """NaN, infinities, zeros, the largest, the smallest and halves, as many as the dtype tells apart."""
    if dtype.is_float:
        numbers = [
            np.nan,
            np.inf,
            -np.inf,
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.5,
            2.5,
            1e-8,
            -1e-8,
            20.0,
            -20.0,
            100.0,
            -100.0,
        ]
        return np.array(numbers).astype(dtype.numpy)
    if dtype is DType.BOOL:
        return np.array([False, True])
    limits = np.iinfo(dtype.numpy.name)
    return np.array([0, 1, 2, 7, limits.min, limits.max, limits.max - 1], dtype=dtype.numpy)


def pairs(array: Array) -> tuple[Array, Array]:
    """Every value beside every value."""
    return np.repeat(array, len(array)), np.tile(array, len(array))
