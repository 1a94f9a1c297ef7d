from __future__ import annotations

import numpy as np
import pytest

from dlrmc.errors import ParseError
from dlrmc.ir.attributes import Attribute
from dlrmc.ir.cursor import Cursor
from dlrmc.ir.literals import read_array, read_attribute
from dlrmc.ir.op import AttributeSpec
from dlrmc.ir.types import DType, parse_tensor_type


@pytest.mark.parametrize(
    ("text", "kept", "value"),
    [
        ("2.5", "f32[]", 2.5),
        ("[2.5]", "f32[]", 2.5),
        ("7", "i64[1]", [7]),
        ("[1,2,3,4]", "i32[2,2]", [[1, 2], [3, 4]]),
        ("[]", "f32[2,0]", [[], []]),
        ("[true,false]", "bool[2]", [True, False]),
        ("[-inf,inf,1e-3]", "f64[3]", [-np.inf, np.inf, 1e-3]),
        ("[255]", "u8[1]", [255]),
        ("[-128,127]", "i8[2]", [-128, 127]),
        ("[9223372036854775807]", "i64[1]", [2**63 - 1]),
    ],
)
def test_arrays(text: str, kept: str, value):
    array = read_array(Cursor(text, "f.ir"), parse_tensor_type(kept))
    assert array.dtype == parse_tensor_type(kept).dtype.numpy
    assert array.shape == parse_tensor_type(kept).shape
    assert array.tolist() == value


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_nan_is_a_number_of_every_float(dtype: str):
    assert np.isnan(read_array(Cursor("nan", "f.ir"), parse_tensor_type(f"{dtype}[]")).astype(np.float64))


@pytest.mark.parametrize(
    ("text", "kept", "place", "found", "expected"),
    [
        ("[1,2,3]", "i64[2]", 1, "3 elements", "2 for i64[2]"),
        ("1", "i64[2]", 1, "1 element", "2 for i64[2]"),
        ("[1,2.5]", "i64[2]", 4, "'2.5'", "an integer"),
        ("[1,nan]", "i64[2]", 4, "'nan'", "an integer"),
        ("[1,2]", "bool[2]", 2, "'1'", "true or false"),
        ("[1,true]", "f32[2]", 4, "'true'", "a number"),
        ("[1,[2]]", "f32[2]", 5, "'2'", "',' or ']'"),
        ("[256]", "u8[1]", 2, "'256'", "an integer in 0..255, which u8 holds"),
        ("[-1]", "u8[1]", 2, "'-1'", "an integer in 0..255, which u8 holds"),
        (
            "[9223372036854775808]",
            "i64[1]",
            2,
            "'9223372036854775808'",
            "an integer in -9223372036854775808..9223372036854775807, which i64 holds",
        ),
        ("[1,1e39]", "f32[2]", 4, "'1e39'", "a number that f32 holds"),
        ("[70000]", "f16[1]", 2, "'70000'", "a number that f16 holds"),
        ("[1e400]", "f64[1]", 2, "'1e400'", "a number that f64 holds"),
    ],
)
def test_bad_elements(text: str, kept: str, place: int, found: str, expected: str):
    with pytest.raises(ParseError) as error:
        read_array(Cursor(text, "f.ir"), parse_tensor_type(kept))
    assert (error.value.place, error.value.found, error.value.expected) == (
        f"f.ir:1:{place}",
        found,
        expected,
    )


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "-3", -3),
        ("float", "3", 3.0),
        ("float", "-inf", float("-inf")),
        ("bool", "true", True),
        ("str", "relu", "relu"),
        ("dtype", "bf16", DType.BF16),
        ("ints", "[1,-2]", (1, -2)),
        ("ints", "[]", ()),
        ("bools", "[true,false]", (True, False)),
        ("strs", "[sum,max]", ("sum", "max")),
    ],
)
def test_attributes(kind: str, text: str, value: Attribute):
    read = read_attribute(Cursor(text, "f.ir"), AttributeSpec("a", kind))
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "found", "expected"),
    [
        ("int", "1.5", "'1.5'", "an integer"),
        ("int", "true", "'true'", "an integer"),
        ("float", "wide", "'wide'", "a number"),
        ("bool", "1", "'1'", "true or false"),
        ("str", "1", "'1'", "a word"),
        ("str", ",", "','", "a word"),
        ("dtype", "f8", "'f8'", "one of f64, f32, f16, bf16, i64, i32, u8, i8, bool"),
        ("ints", "1", "'1'", "'['"),
        ("ints", "[1.0]", "'1.0'", "an integer"),
        ("bools", "[yes]", "'yes'", "true or false"),
        ("strs", '["sum"]', "'\"sum\"'", "a word"),
        ("int", "", "end of file", "an integer"),
    ],
)
def test_bad_attributes(kind: str, text: str, found: str, expected: str):
    with pytest.raises(ParseError) as error:
        read_attribute(Cursor(text, "f.ir"), AttributeSpec("a", kind))
    assert (error.value.found, error.value.expected) == (found, expected)
