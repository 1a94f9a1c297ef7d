"""Elements of constants and values of attributes, read from tokens of IR text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from dlrmc.ir.attributes import Attribute
from dlrmc.ir.cursor import Cursor
from dlrmc.ir.op import Array, AttributeSpec
from dlrmc.ir.tokens import Token
from dlrmc.ir.types import DType, TensorType

T = TypeVar("T")


def read_array(cursor: Cursor, kept: TensorType) -> Array:
    """The elements of a constant: `[1,2,3]` in row-major order, or a bare element.

    Raises:
        ParseError: too many or too few, or one that the dtype does not hold.
    """
    start = cursor.next
    tokens = cursor.separated(cursor.take, "]") if cursor.accept("[") else (cursor.take(),)
    if len(tokens) != kept.numel:
        found = f"{len(tokens)} element{'' if len(tokens) == 1 else 's'}"
        raise cursor.error(f"{kept.numel} for {kept}", start, found=found)
    if kept.dtype is DType.BOOL:
        elements = np.array([_boolean(cursor, token) for token in tokens], dtype=np.bool_)
    elif kept.dtype.is_integer:
        elements = _integers(cursor, tokens, kept.dtype)
    else:
        elements = _floats(cursor, tokens, kept.dtype)
    return elements.reshape(kept.shape)


def read_attribute(cursor: Cursor, spec: AttributeSpec) -> Attribute:
    """The value of an attribute of the kind that the card declares.

    Raises:
        ParseError: a value of another kind.
    """
    match spec.kind:
        case "ints":
            return tuple(_integer(cursor, token) for token in _list(cursor))
        case "bools":
            return tuple(_boolean(cursor, token) for token in _list(cursor))
        case "strs":
            return tuple(_word(cursor, token) for token in _list(cursor))
        case _:
            return _scalar(cursor, spec.kind, cursor.take())


def convert(cursor: Cursor, function: Callable[[str], T], token: Token, what: str) -> T:
    """What `function` makes of the token's text.

    Raises:
        ParseError: where it raises ValueError; `what` is what the error expects.
    """
    try:
        return function(token.text)
    except ValueError as error:
        raise cursor.error(what, token) from error


def _list(cursor: Cursor) -> tuple[Token, ...]:
    cursor.expect("[")
    return cursor.separated(cursor.take, "]")


def _scalar(cursor: Cursor, kind: str, token: Token) -> int | float | bool | str | DType:
    match kind:
        case "bool":
            return _boolean(cursor, token)
        case "int":
            return _integer(cursor, token)
        case "float":
            return convert(cursor, float, token, "a number")
        case "dtype":
            return convert(cursor, DType, token, f"one of {', '.join(map(str, DType))}")
        case _:
            return _word(cursor, token)


def _boolean(cursor: Cursor, token: Token) -> bool:
    if token.text not in ("true", "false"):
        raise cursor.error("true or false", token)
    return token.text == "true"


def _integer(cursor: Cursor, token: Token) -> int:
    return convert(cursor, int, token, "an integer")


def _word(cursor: Cursor, token: Token) -> str:
    if token.kind != "word":
        raise cursor.error("a word", token)
    return token.text


def _integers(cursor: Cursor, tokens: Sequence[Token], dtype: DType) -> Array:
    limits = np.iinfo(dtype.numpy.name)
    values = [_integer(cursor, token) for token in tokens]
    for token, value in zip(tokens, values, strict=True):
        if not limits.min <= value <= limits.max:
            raise cursor.error(f"an integer in {limits.min}..{limits.max}, which {dtype} holds", token)
    return np.array(values, dtype=dtype.numpy)


def _floats(cursor: Cursor, tokens: Sequence[Token], dtype: DType) -> Array:
    wide = np.array([convert(cursor, float, token, "a number") for token in tokens], dtype=np.float64)
    with np.errstate(over="ignore"):
        values = wide.astype(dtype.numpy)
    infinite = np.isinf(values.astype(np.float64))
    for token, is_infinite in zip(tokens, infinite, strict=True):
        if is_infinite and "inf" not in token.text:
            raise cursor.error(f"a number that {dtype} holds", token)
    return values
