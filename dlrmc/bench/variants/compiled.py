"""dlrmc: as a bound step, called with the same tensors, and called with tensors it has not seen."""

from __future__ import annotations

import time
from itertools import cycle
from typing import Any

from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import Work

# As many requests as the protocol makes, as long as they fit; then they are used in turn.
_FRESH_REQUESTS_MAX = 320
_FRESH_REQUESTS_MIN = 3
_FRESH_BYTES_MAX = 2 << 30


def step(work: Work) -> Runner:
    """`compiled.bind(...)()`: fixed addresses, as the peers' static inputs."""
    compiled, compile_s = work.compiled
    start = time.perf_counter()
    bound = compiled.bind(*work.args, **work.kwargs)
    compile_s += time.perf_counter() - start
    return Runner(bound, compile_s=compile_s, export_s=work.exported[1])


def call(work: Work) -> Runner:
    """`compiled(...)` with the same tensors every time, and fresh outputs."""
    compiled, compile_s = work.compiled
    return Runner(lambda: compiled(*work.args, **work.kwargs), compile_s=compile_s, export_s=work.exported[1])


def fresh_call(work: Work) -> Runner:
    """`compiled(...)` with other tensors at other addresses every time, and fresh outputs."""
    compiled, compile_s = work.compiled
    source = _FreshArguments(work)

    def run() -> Any:
        args, kwargs = source.next()
        return compiled(*args, **kwargs)

    return Runner(
        run, refresh=source.refresh, arm=source.fill, compile_s=compile_s, export_s=work.exported[1]
    )


class _FreshArguments:
    """Copies of the live inputs, made before any time is taken."""

    def __init__(self, work: Work) -> None:
        self._work = work
        request_bytes = max(1, sum(tensor.nbytes for tensor in work.live))
        self._count = max(_FRESH_REQUESTS_MIN, min(_FRESH_REQUESTS_MAX, _FRESH_BYTES_MAX // request_bytes))
        self.refresh()

    def refresh(self) -> None:
        """Copy what the live inputs hold now, for one call."""
        self._copy(1)

    def fill(self) -> None:
        """Copy what the live inputs hold now, for all calls to come."""
        self._copy(self._count)

    def next(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the next call."""
        return next(self._requests)

    def _copy(self, count: int) -> None:
        self._requests = cycle([self._work.fresh_arguments() for _ in range(count)])
