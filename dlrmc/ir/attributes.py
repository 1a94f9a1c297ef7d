"""Attributes of a node: names to plain values, read through typed getters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import cast

from dlrmc.ir.types import DType

Attribute = int | float | bool | str | DType | tuple[int, ...] | tuple[bool, ...] | tuple[str, ...]


class Attributes(Mapping[str, Attribute]):
    """An immutable mapping in the order of the op card, defaults filled in."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Attribute] | None = None) -> None:
        self._values = MappingProxyType(dict(values or {}))

    def __getitem__(self, name: str) -> Attribute:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"Attributes({dict(self._values)!r})"

    def int(self, name: str) -> int:
        """The integer attribute of that name."""
        return cast("int", self._values[name])

    def float(self, name: str) -> float:
        """The float attribute of that name."""
        return cast(float, self._values[name])

    def bool(self, name: str) -> bool:
        """The boolean attribute of that name."""
        return cast(bool, self._values[name])

    def str(self, name: str) -> str:
        """The word attribute of that name."""
        return cast(str, self._values[name])

    def dtype(self, name: str) -> DType:
        """The dtype attribute of that name."""
        return cast(DType, self._values[name])

    def ints(self, name: str) -> tuple[int, ...]:
        """The list of integers of that name."""
        return cast("tuple[int, ...]", self._values[name])

    def bools(self, name: str) -> tuple[bool, ...]:
        """The list of booleans of that name."""
        return cast("tuple[bool, ...]", self._values[name])

    def strs(self, name: str) -> tuple[str, ...]:
        """The list of words of that name."""
        return cast("tuple[str, ...]", self._values[name])
