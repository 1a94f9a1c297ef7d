"""One table from an aten operator to the function that imports it; one file a family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from dlrmc.frontend.aten import (
    attention,
    bitwise,
    buckets,
    convolution,
    create,
    division,
    elementwise,
    embedding,
    index,
    linear,
    mask,
    noop,
    normalise,
    order,
    recurrent,
    reduce,
    scatter,
    shape,
    update,
)
from dlrmc.frontend.builder import Builder, Value
from dlrmc.frontend.call import Call

ImportFunction = Callable[[Builder, Call], Value]

_FAMILIES: tuple[tuple[tuple[tuple[str, ...], ImportFunction], ...], ...] = (
    noop.IMPORTERS,
    elementwise.IMPORTERS,
    division.IMPORTERS,
    bitwise.IMPORTERS,
    linear.IMPORTERS,
    convolution.IMPORTERS,
    attention.IMPORTERS,
    recurrent.IMPORTERS,
    embedding.IMPORTERS,
    shape.IMPORTERS,
    reduce.IMPORTERS,
    normalise.IMPORTERS,
    order.IMPORTERS,
    buckets.IMPORTERS,
    index.IMPORTERS,
    mask.IMPORTERS,
    update.IMPORTERS,
    scatter.IMPORTERS,
    create.IMPORTERS,
)


def _table() -> Mapping[str, ImportFunction]:
    table: dict[str, ImportFunction] = {}
    for family in _FAMILIES:
        for targets, function in family:
            for target in targets:
                if target in table:
                    raise AssertionError(f"two importers for {target}")
                table[target] = function
    return MappingProxyType(table)


IMPORTERS: Mapping[str, ImportFunction] = _table()
