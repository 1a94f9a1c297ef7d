"""Whether processes that were told to stop stand still: a signal is taken only when a thread has a core.

On a machine whose cores are all busy, tens of milliseconds pass between SIGSTOP and the last thread's stop,
and a request takes microseconds.

Source: proc(5), `/proc/[pid]/stat` and `/proc/[pid]/task/[tid]/stat`, third and fifth field.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from typing import Final

_PROC: Final = "/proc"
_STILL: Final = frozenset("TtZXx")  # stopped, traced, or ended
_LIMIT_S: Final = 2.0
_PAUSE_S: Final = 0.001


def wait_for_standstill(groups: Collection[int], limit_s: float = _LIMIT_S) -> bool:
    """Wait until no thread of the process groups can run.

    Args:
        groups: leaders' process ids.
        limit_s: where a thread hangs in the kernel, it is not waited for any longer.

    Returns:
        Whether all stand still; False, at once, where there is no /proc to look at.
    """
    end = time.monotonic() + limit_s
    while moving := any(state not in _STILL for state in _thread_states(groups)):
        if time.monotonic() > end:
            break
        time.sleep(_PAUSE_S)
    return not moving and os.path.isdir(_PROC)


def _thread_states(groups: Collection[int]) -> Iterator[str]:
    for process in filter(str.isdecimal, _listed(_PROC)):
        fields = _stat_fields(f"{_PROC}/{process}/stat")
        if fields and int(fields[2]) in groups:
            tasks = f"{_PROC}/{process}/task"
            for thread in _listed(tasks):
                yield from _stat_fields(f"{tasks}/{thread}/stat")[:1]


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []  # the process has ended, or the system has no /proc


def _stat_fields(path: str) -> list[str]:
    """State, parent, group, ... of a process or thread; empty for one that has ended."""
    try:
        with open(path, "rb") as file:
            # Behind the name, which stands in parentheses and may hold some itself.
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []
