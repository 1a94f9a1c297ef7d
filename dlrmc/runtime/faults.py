"""Ids and offsets out of range: the record that kernels write, the policy, and the error.

Kernels never read or write out of bounds. The first fault since the last report is described, all are
counted.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dlrmc.codegen.source import FaultSite
from dlrmc.errors import BoundsError

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
        position: where the value stands, as its site counts.
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


def first_fault(records: np.ndarray[Any, Any], grids: Sequence[int]) -> Fault | None:
    """What the records of a program's checking kernels say: the fault of the earliest call and kernel.

    Args:
        records: FAULTS_DTYPE of `dlrmc.codegen.fault_record`, one a kernel, in order of launch.
        grids: the number of blocks of each kernel; so many end in each call.
    """
    calls = [int(record["blocks_before"]) // grid + 1 for record, grid in zip(records, grids, strict=True)]
    bad = [number for number, record in enumerate(records) if record["count"]]
    if not bad:
        return None
    first = min(bad, key=lambda number: calls[number])
    fields = {name: int(records[first][name]) for name in ("site", "position", "value", "limit")}
    return Fault(call=calls[first], count=fault_count(records), **fields)


def fault_count(records: np.ndarray[Any, Any]) -> int:
    """Checks that failed, of all kernels."""
    return int(records["count"].sum())


class FaultLog:
    """What happens with faults under `bounds=`: raised, or only counted. Threads may share one.

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
        self._lock = threading.Lock()

    @property
    def is_told(self) -> bool:
        """Whether a fault is raised at some time."""
        return self.bounds != "ignore"

    @property
    def in_call(self) -> bool:
        """Whether a fault is raised by the very call that made it."""
        return self.bounds == "raise"

    def count(self, fault: Fault) -> None:
        """Count the checks that failed."""
        with self._lock:
            self.total += fault.count

    def error(self, fault: Fault) -> BoundsError:
        """The error that names the input, the position, the value, the limit and the call."""
        site = self._sites[fault.site]
        path = self._paths.get(site.operand, f"%{site.operand}")
        position = site.position(fault.position)
        others = f", the first of {fault.count} checks that failed" if fault.count > 1 else ""
        return BoundsError(
            f"{path} in call {fault.call}",
            found=f"{site.kind} {fault.value} at position {position}{others}",
            expected=_RULES[site.kind].format(limit=fault.limit),
            hint="the scores of that call are not valid; later calls are not affected",
            input=path,
            position=position,
            value=fault.value,
            limit=fault.limit,
            call=fault.call,
        )
