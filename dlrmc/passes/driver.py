"""Runs passes in order, verifies the graph after each, and says what each did."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dlrmc.errors import DlrmcError, PassError, VerifyError
from dlrmc.ir.graph import Graph
from dlrmc.ir.verify import verify
from dlrmc.passes.pass_types import Pass, PassResult
from dlrmc.passes.stages import ops_allowed_after


@dataclass(frozen=True)
class Stage:
    """What one pass did.

    Args:
        name: the pass's name.
        changes: how many changes it made.
        counts: how often each named thing happened.
        time_us: how long it took, verification left out.
    """

    name: str
    changes: int
    counts: Mapping[str, int]
    time_us: float

    @property
    def summary(self) -> str:
        """`cse: 3 changes (merged 3)`, or `cse: unchanged`."""
        if not self.changes:
            return f"{self.name}: unchanged"
        counts = ", ".join(f"{name} {count}" for name, count in self.counts.items())
        return f"{self.name}: {self.changes} change{'' if self.changes == 1 else 's'} ({counts})"


def run(
    graph: Graph, passes: Sequence[Pass], *, on_stage: Callable[[Stage, Graph], None] | None = None
) -> tuple[Stage, ...]:
    """Run the passes on the graph, in place.

    Args:
        graph: rewritten in place.
        passes: in order; those of `dlrmc.passes.pipeline.PIPELINE`, or any others.
        on_stage: called after each pass with the graph as it is then, which later passes change.

    Raises:
        PassError: a pass did what it must not, or left an op that no later pass takes.
        VerifyError: the graph breaks an invariant after a pass.
    """
    stages: list[Stage] = []
    for each in passes:
        start = time.perf_counter()
        result = _run_unverified(graph, each)
        time_us = (time.perf_counter() - start) * 1e6
        _verify_stage(graph, each)
        stages.append(Stage(each.name, result.changes, result.counts, time_us))
        if on_stage is not None:
            on_stage(stages[-1], graph)
    return tuple(stages)


def run_pass(graph: Graph, each: Pass) -> PassResult:
    """Run one pass in place and verify the graph after it.

    Raises:
        PassError, VerifyError: as in `run`.
    """
    result = _run_unverified(graph, each)
    _verify_stage(graph, each)
    return result


def find_passes(names: Iterable[str], known: Sequence[Pass]) -> tuple[Pass, ...]:
    """The passes of these names, in the order given; a name may stand more than once.

    Raises:
        PassError: an unknown name, with the nearest known one.
    """
    by_name = {each.name: each for each in known}
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1)
            raise PassError(
                f"pass {name!r}",
                found="there is no such pass",
                expected="one of " + ", ".join(by_name),
                hint=f"did you mean {near[0]}?" if near else "",
            )
    return tuple(by_name[name] for name in names)


def _run_unverified(graph: Graph, each: Pass) -> PassResult:
    try:
        return each.run(graph)
    except (PassError, VerifyError):
        raise
    except DlrmcError as error:
        raise PassError(
            f"pass {each.name}: {error.place}",
            found=error.found,
            expected=error.expected,
            hint=error.hint,
            context=error.context,
        ) from error


def _verify_stage(graph: Graph, each: Pass) -> None:
    verify(graph, f"pass {each.name}")
    allowed = ops_allowed_after(each.name)
    if allowed is None:
        return
    for node in graph.nodes:
        if node.op.name not in allowed:
            raise PassError(
                f"pass {each.name}",
                found=f"%{node.name} is still a {node.op.name}",
                expected=f"only {', '.join(allowed)}",
            )
