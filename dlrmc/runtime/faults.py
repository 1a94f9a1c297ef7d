"""Ids and offsets out of range: the record that kernels write, the policy, and the error.

Kernels never read or write out of bounds. The first fault since the last report is described, all are
counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dlrmc.codegen.source import FaultSite
from dlrmc.errors import BoundsError

# `struct Faults` of the emitted source: count of faults, then the first one.
FAULTS_DTYPE = np.dtype(
    [
        ("count", np.uint32),
        ("site", np.int32),
        ("position", np.int64),
        ("value", np.int64),
        ("limit", np.int64),
    ],
    align=True,
)

_RULES = MappingProxyType(
    {
        "id": "0 <= id < {limit}, the rows of the table",
        "index": "0 <= index < {limit}, the size of the dimension",
        "offset": "offsets that start at 0, never fall and end at or before {limit}, the number of ids",
    }
)


@dataclass(frozen=True)
class Fault:
    """One value out of range.

    Args:
        site: number of the check in the emitted module.
        position: where in the operand the value stands, counted over its elements.
        value: the id or offset found.
        limit: rows of the table, size of the dimension, or number of ids.
        call: number of the call, from 1.
        count: checks that failed up to now; every thread that needs a bad id fails its own.
    """

    site: int
    position: int
    value: int
    limit: int
    call: int
    count: int

    @staticmethod
    def of(record: np.ndarray[Any, Any] | np.void, call: int) -> Fault:
        """The fault in a record of FAULTS_DTYPE whose count is not zero."""
        numbers = {name: int(record[name]) for name in ("site", "position", "value", "limit", "count")}
        return Fault(call=call, **numbers)


class FaultLog:
    """What happens with faults under `bounds=`: kept until reported, raised, or only counted.

    Args:
        bounds: `deferred`, `raise` or `ignore`.
        sites: the checks of the emitted module, by number.
        paths: the user's path of each graph input by its name in the graph.
    """

    def __init__(self, bounds: str, sites: Sequence[FaultSite], paths: Mapping[str, str]) -> None:
        self.bounds = bounds
        self.total = 0
        self._sites = tuple(sites)
        self._paths = dict(paths)
        self._pending: Fault | None = None

    @property
    def in_call(self) -> bool:
        """Whether a fault is raised by the very call that made it."""
        return self.bounds == "raise"

    def record(self, fault: Fault) -> None:
        """Keep the first fault until it is raised; count all."""
        self.total += fault.count
        if self._pending is None and self.bounds != "ignore":
            self._pending = fault

    def raise_pending(self) -> None:
        """Raise what was recorded, once.

        Raises:
            BoundsError: naming the input, the position, the value, the limit and the call.
        """
        if (fault := self._pending) is None:
            return
        self._pending = None
        raise self._error(fault)

    def _error(self, fault: Fault) -> BoundsError:
        site = self._sites[fault.site]
        path = self._paths.get(site.operand, f"%{site.operand}")
        others = f", the first of {fault.count} checks that failed" if fault.count > 1 else ""
        return BoundsError(
            f"{path} in call {fault.call}",
            found=f"{site.kind} {fault.value} at position {fault.position}{others}",
            expected=_RULES[site.kind].format(limit=fault.limit),
            hint="the scores of that call are not valid; later calls are not affected",
        )
