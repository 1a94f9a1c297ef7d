"""Types of values: a dtype and a static shape."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dlrmc.errors import TypeRuleError

# bf16 is not among NumPy's own: see `_bfloat16`.
_NUMPY: Mapping[str, np.dtype[np.generic]] = MappingProxyType(
    {
        "f64": np.dtype(np.float64),
        "f32": np.dtype(np.float32),
        "f16": np.dtype(np.float16),
        "i64": np.dtype(np.int64),
        "i32": np.dtype(np.int32),
        "u8": np.dtype(np.uint8),
        "i8": np.dtype(np.int8),
        "bool": np.dtype(np.bool_),
    }
)


class DType(enum.Enum):
    """Element types; the value is the spelling in IR text."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    I64 = "i64"
    I32 = "i32"
    U8 = "u8"
    I8 = "i8"
    BOOL = "bool"

    def __str__(self) -> str:
        return self.value

    @property
    def size_bytes(self) -> int:
        """Bytes of one element."""
        return 2 if self is DType.BF16 else _NUMPY[self.value].itemsize

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self in (DType.F64, DType.F32, DType.F16, DType.BF16)

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type; bool is not."""
        return self in (DType.I64, DType.I32, DType.U8, DType.I8)

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype that holds such elements; bf16 comes from ml_dtypes."""
        return _bfloat16() if self is DType.BF16 else _NUMPY[self.value]

    @staticmethod
    def of_numpy(dtype: np.dtype[np.generic]) -> DType:
        """The DType of a NumPy dtype.

        Raises:
            TypeRuleError: where the IR has no such type.
        """
        if dtype.name == "bfloat16":
            return DType.BF16
        for name, candidate in _NUMPY.items():
            if candidate == dtype:
                return DType(name)
        names = ", ".join(d.value for d in DType)
        raise TypeRuleError("array", found=f"NumPy dtype {dtype}", expected=f"one of {names}")


def _bfloat16() -> np.dtype[np.generic]:
    """ml_dtypes takes 0.4 s to load, which only programs with bf16 arrays wait for."""
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True, slots=True)
class TensorType:
    """A dtype and a static shape, printed as `f32[2048,16]`; a scalar is `f32[]`."""

    dtype: DType
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of the packed row-major array."""
        return self.numel * self.dtype.size_bytes

    def with_shape(self, shape: tuple[int, ...]) -> TensorType:
        """The same dtype in another shape."""
        return TensorType(self.dtype, shape)

    def with_dtype(self, dtype: DType) -> TensorType:
        """The same shape in another dtype."""
        return TensorType(dtype, self.shape)


@dataclass(frozen=True, slots=True)
class TupleType:
    """The types of a kernel with several results, printed as `(f32[8,1], f32[8,2])`."""

    items: tuple[TensorType, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


Type = TensorType | TupleType

# Read with re.VERBOSE too, so that a space stands in brackets.
TYPE_PATTERN = r"(?:f64|f32|f16|bf16|i64|i32|u8|i8|bool)\[(?:[ ]*\d+[ ]*(?:,[ ]*\d+[ ]*)*)?\]"


def parse_tensor_type(text: str) -> TensorType:
    """Read `f32[8,3]`.

    Raises:
        TypeRuleError: where the text is not a type.
    """
    if not re.fullmatch(TYPE_PATTERN, text.strip()):
        raise TypeRuleError("type", found=repr(text), expected="a type such as f32[8,3] or i64[]")
    dtype, _, rest = text.strip().partition("[")
    dims = rest[:-1].split(",") if rest != "]" else []
    return TensorType(DType(dtype), tuple(int(dim) for dim in dims))
