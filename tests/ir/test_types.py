from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from dlrmc.errors import TypeRuleError
from dlrmc.ir.types import DType, TensorType, TupleType, parse_tensor_type

SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "u8": 1, "i8": 1, "bool": 1}


def test_the_dtypes_and_their_sizes():
    assert {str(dtype): dtype.size_bytes for dtype in DType} == SIZES


def test_the_families_of_dtypes():
    assert [str(d) for d in DType if d.is_float] == ["f64", "f32", "f16", "bf16"]
    assert [str(d) for d in DType if d.is_integer] == ["i64", "i32", "u8", "i8"]
    assert not DType.BOOL.is_float
    assert not DType.BOOL.is_integer


@pytest.mark.parametrize("dtype", DType)
def test_a_numpy_dtype_and_back(dtype: DType):
    assert DType.of_numpy(dtype.numpy) is dtype
    assert DType.of_numpy(np.zeros(1, dtype.numpy).dtype) is dtype


def test_bf16_is_that_of_ml_dtypes():
    assert DType.BF16.numpy == np.dtype(ml_dtypes.bfloat16)


def test_a_numpy_dtype_that_the_ir_lacks_is_refused():
    with pytest.raises(TypeRuleError) as error:
        DType.of_numpy(np.dtype(np.complex64))
    assert str(error.value) == (
        "array: NumPy dtype complex64\n  expected: one of f64, f32, f16, bf16, i64, i32, u8, i8, bool"
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("f32[8,3]", TensorType(DType.F32, (8, 3))),
        ("i64[]", TensorType(DType.I64, ())),
        ("bf16[0]", TensorType(DType.BF16, (0,))),
        ("bool[1,2,3,4]", TensorType(DType.BOOL, (1, 2, 3, 4))),
    ],
)
def test_text_and_type(text: str, kept: TensorType):
    assert parse_tensor_type(text) == kept
    assert str(kept) == text


def test_spaces_inside_a_type_are_read_over():
    assert str(parse_tensor_type(" f32[ 8 , 3 ] ")) == "f32[8,3]"


@pytest.mark.parametrize(
    "text", ["f32", "f32[8 3]", "f32[,]", "f32[8,]", "f32[-1]", "F32[8]", "f8[8]", "f32[8]x", "f32[8.0]", ""]
)
def test_what_is_no_type_is_refused(text: str):
    with pytest.raises(TypeRuleError) as error:
        parse_tensor_type(text)
    assert str(error.value) == f"type: {text!r}\n  expected: a type such as f32[8,3] or i64[]"


def test_sizes():
    kept = TensorType(DType.BF16, (8, 3))
    assert (kept.rank, kept.numel, kept.size_bytes) == (2, 24, 48)
    assert (TensorType(DType.F64, ()).numel, TensorType(DType.F64, ()).size_bytes) == (1, 8)
    assert TensorType(DType.F64, (4, 0)).size_bytes == 0


def test_a_changed_type_keeps_the_rest():
    kept = TensorType(DType.F32, (8, 3))
    assert str(kept.with_shape((24,))) == "f32[24]"
    assert str(kept.with_dtype(DType.I8)) == "i8[8,3]"
    assert str(kept) == "f32[8,3]"


def test_a_tuple_of_types_prints_in_parentheses():
    items = (TensorType(DType.F32, (8, 1)), TensorType(DType.I32, ()))
    assert str(TupleType(items)) == "(f32[8,1], i32[])"
