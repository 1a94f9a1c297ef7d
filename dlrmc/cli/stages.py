"""A program before the first pass, after each pass, and at the end, for the commands that show it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlrmc.errors import OptionError

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from dlrmc.ir.graph import Graph
    from dlrmc.passes.pass_types import Pass

IMPORT = "import"
FINAL = "final"


@dataclass(frozen=True)
class Stage:
    """The graph after one pass.

    Args:
        name: `import`, or the pass's name.
        graph: a copy that later passes do not touch.
        changes: how much the pass changed; 0 for the import.
        counts: how often each named thing happened.
    """

    name: str
    graph: Graph
    changes: int
    counts: Mapping[str, int]

    @property
    def summary(self) -> str:
        """`cse: 3 changes (merge 3)`, or `cse: no change`."""
        if not self.changes:
            return f"{self.name}: no change"
        counts = ", ".join(f"{name} {count}" for name, count in self.counts.items())
        plural = "" if self.changes == 1 else "s"
        return f"{self.name}: {self.changes} change{plural}" + (f" ({counts})" if counts else "")


def initial_graph(program: ExportedProgram | Graph) -> Graph:
    """The graph as imported; IR text is taken as it is, after verification.

    Raises:
        FrontendError: the program cannot be imported.
        VerifyError: the text breaks an invariant.
    """
    from dlrmc.ir.graph import Graph
    from dlrmc.ir.verify import verify

    if isinstance(program, Graph):
        verify(program)
        return program
    from dlrmc.frontend import import_program

    return import_program(program).graph


def trace(graph: Graph, passes: Sequence[Pass]) -> tuple[Stage, ...]:
    """Run the passes on a copy and keep the graph after each; the first stage is the import."""
    from dlrmc.passes.driver import run_pass

    working = graph.copy()
    stages = [Stage(IMPORT, working.copy(), 0, {})]
    for each in passes:
        result = run_pass(working, each)
        stages.append(Stage(each.name, working.copy(), result.changes, result.counts))
    return tuple(stages)


def pipeline() -> tuple[Pass, ...]:
    """All passes of the compiler, in order."""
    from dlrmc.passes.pipeline import PIPELINE

    return PIPELINE


def find_passes(names: Sequence[str]) -> tuple[Pass, ...]:
    """The passes of these names, in the order given; a name may stand more than once.

    Raises:
        OptionError: an unknown name, with the nearest known one.
    """
    known = {each.name: each for each in pipeline()}
    for name in names:
        if name not in known:
            raise _unknown("pass", name, tuple(known))
    return tuple(known[name] for name in names)


def find_stage(stages: Sequence[Stage], name: str) -> Stage:
    """The last stage of that name; `final` is the last of all.

    Raises:
        OptionError: an unknown name, with the nearest known one.
    """
    if name == FINAL:
        return stages[-1]
    found = [stage for stage in stages if stage.name == name]
    if not found:
        raise _unknown("stage", name, (*(stage.name for stage in stages), FINAL))
    return found[-1]


def _unknown(kind: str, name: str, known: Sequence[str]) -> OptionError:
    near = difflib.get_close_matches(name, known, n=1)
    return OptionError(
        f"{kind} {name!r}",
        found=f"there is no such {kind}",
        expected="one of " + ", ".join(known),
        hint=f"did you mean {near[0]}?" if near else "",
    )
