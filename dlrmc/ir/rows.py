"""How a value depends on the batch: the tag that row programs are cut by.

A value is `UNIFORM` (weights and constants: the same for every request), `Rows(n)` (slice r of the leading
dimension, n entries long, depends on request r and on uniform values only) or `MIXED` (anything else).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class Dependence(enum.Enum):
    """The tags that carry no number."""

    UNIFORM = "uniform"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Rows:
    """The leading dimension is the batch times `per_row`, and row r has `per_row` entries in a run."""

    per_row: int


RowTag = Dependence | Rows
UNIFORM = Dependence.UNIFORM
MIXED = Dependence.MIXED


def leading_rows(shape: tuple[int, ...], batch: int) -> RowTag:
    """The tag of a tensor that comes from outside: rows if the batch divides its leading dimension."""
    if not shape or batch == 0 or shape[0] == 0 or shape[0] % batch:
        return MIXED
    return Rows(shape[0] // batch)


def joined(tags: Iterable[RowTag]) -> RowTag:
    """The tag of what reads several values entry by entry: they must agree; uniform ones do with any."""
    found = {tag for tag in tags if tag is not UNIFORM}
    if not found:
        return UNIFORM
    return found.pop() if len(found) == 1 else MIXED


def rows_or_mixed(tags: Iterable[RowTag], *, uniform: Iterable[RowTag] = ()) -> RowTag:
    """The rows that all of `tags` agree on where `uniform` are uniform; UNIFORM if all is; else MIXED."""
    kept = tuple(tags)
    if any(tag is not UNIFORM for tag in uniform):
        return MIXED
    if all(tag is UNIFORM for tag in kept):
        return UNIFORM
    return kept[0] if all(tag == kept[0] for tag in kept) and isinstance(kept[0], Rows) else MIXED
