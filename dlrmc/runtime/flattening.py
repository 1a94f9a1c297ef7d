"""A call's arguments to a flat list of leaves, by a plan made once for the exported structure.

`torch.utils._pytree` is exact but slow: it looks up the type of every node in a registry. Nearly all
structures are tuples, lists and dictionaries; for those a plan of a few small functions does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

# Appends the leaves of a value to a list; False where the value has another structure.
Flattener = Callable[[Any, list[Any]], bool]
# The leaves of positional arguments; None where they have another structure.
Positional = Callable[[tuple[Any, ...]], tuple[Any, ...] | None]
# For each argument None, or the type and length of a flat sequence.
_Shallow = list[tuple[type | None, int]]


class FlatteningPlan:
    """The leaves of `(args, kwargs)` in the order of torch's pytree.

    Args:
        args: one example of the positional arguments, any values as leaves.
        kwargs: likewise of the keyword arguments.
        is_leaf: tells the leaves of the example.
    """

    def __init__(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], is_leaf: Callable[[Any], bool]
    ) -> None:
        self._args = [_flattener(value, is_leaf) for value in args]
        self._kwargs = [(name, _flattener(value, is_leaf)) for name, value in kwargs.items()]
        self._shallow = _shallow_args(args, kwargs, is_leaf)
        self._quick = self.positional

    @property
    def positional(self) -> Positional | None:
        """The quick way to the leaves of positional arguments; None where the structure takes more."""
        if self._shallow is None:
            return None
        if all(kind is None for kind, _count in self._shallow):
            return _plain_positional(len(self._shallow))
        return _shallow_positional(self._shallow)

    def leaves(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | None:
        """The leaves, or None where the structure is another, or one that this plan cannot tell."""
        if len(args) != len(self._args) or len(kwargs) != len(self._kwargs):
            return None
        if self._quick is not None:
            found = self._quick(tuple(args))
            return None if found is None else [*found]
        leaves: list[Any] = []
        for flatten, value in zip(self._args, args):  # noqa: B905 - equal lengths, checked above
            if not flatten(value, leaves):
                return None
        for name, flatten in self._kwargs:
            if name not in kwargs or not flatten(kwargs[name], leaves):
                return None
        return leaves


def _plain_positional(count: int) -> Positional:
    def leaves(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return args if len(args) == count else None

    return leaves


def _shallow_positional(shallow: _Shallow) -> Positional:
    count = len(shallow)

    def leaves(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if len(args) != count:
            return None
        found: list[Any] = []
        for (kind, length), value in zip(shallow, args):  # noqa: B905 - equal lengths, checked above
            if kind is None:
                found.append(value)
            elif type(value) is kind and len(value) == length:
                found += value
            else:
                return None
        return tuple(found)

    return leaves


def _shallow_args(
    args: Sequence[Any], kwargs: Mapping[str, Any], is_leaf: Callable[[Any], bool]
) -> _Shallow | None:
    """Type and length of each argument, where all are leaves (None, 1) or sequences of leaves, else None."""
    shallow: _Shallow = []
    for value in args:
        if is_leaf(value):
            shallow.append((None, 1))
        elif type(value) in (list, tuple) and all(map(is_leaf, value)):
            shallow.append((type(value), len(value)))
        else:
            return None
    return None if kwargs else shallow


def _flattener(example: Any, is_leaf: Callable[[Any], bool]) -> Flattener:
    if is_leaf(example):
        return _take_leaf
    if type(example) in (list, tuple):
        return _sequence_flattener(type(example), example, is_leaf)
    if type(example) is dict:
        return _dict_flattener(example, is_leaf)
    return _refuse


def _take_leaf(value: Any, leaves: list[Any]) -> bool:
    leaves.append(value)
    return True


def _refuse(value: Any, leaves: list[Any]) -> bool:
    return False


def _sequence_flattener(kind: type, example: Sequence[Any], is_leaf: Callable[[Any], bool]) -> Flattener:
    count = len(example)
    parts = [_flattener(value, is_leaf) for value in example]
    if all(part is _take_leaf for part in parts):

        def take_all(value: Any, leaves: list[Any]) -> bool:
            if type(value) is not kind or len(value) != count:
                return False
            leaves.extend(value)
            return True

        return take_all

    def take_each(value: Any, leaves: list[Any]) -> bool:
        if type(value) is not kind or len(value) != count:
            return False
        return all(part(each, leaves) for part, each in zip(parts, value, strict=True))

    return take_each


def _dict_flattener(example: Mapping[Any, Any], is_leaf: Callable[[Any], bool]) -> Flattener:
    parts = [(key, _flattener(value, is_leaf)) for key, value in example.items()]

    def take(value: Any, leaves: list[Any]) -> bool:
        if type(value) is not dict or len(value) != len(parts):
            return False
        return all(key in value and part(value[key], leaves) for key, part in parts)

    return take
