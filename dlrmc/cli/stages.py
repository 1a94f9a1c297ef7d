"""A program before the first pass, after each pass, and at the end, for the commands that show it."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
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
class Snapshot:
    """The graph after one pass.

    Args:
        name: `import`, or the pass's name; a pass that runs again is `dce-2`.
        graph: a copy that later passes do not touch.
        changes: how much the pass changed; 0 for the import.
        summary: one line that says so.
    """

    name: str
    graph: Graph
    changes: int
    summary: str


@dataclass(frozen=True)
class Initial:
    """A program before the first pass.

    Args:
        graph: as imported.
        counted: the numbers of the inputs whose number of ids is read at run time.
    """

    graph: Graph
    counted: tuple[int, ...] = ()


def initial_program(program: ExportedProgram | Graph) -> Initial:
    """The graph as imported; IR text is taken as it is, after verification.

    A program with dynamic sizes is imported for those of its example, which a line on standard error tells.

    Raises:
        FrontendError: the program cannot be imported.
        VerifyError: the text breaks an invariant.
    """
    from dlrmc.ir.graph import Graph
    from dlrmc.ir.verify import verify

    if isinstance(program, Graph):
        verify(program)
        return Initial(program)
    from dlrmc.frontend import prepare

    prepared = prepare(program)
    imported = prepared.specialise(prepared.example_shapes)
    sizes = ", ".join(f"{dim.path}[{dim.dim}] = {dim.size}" for dim in imported.dynamic_dims)
    if sizes:
        print(f"note: dynamic sizes are shown for the example of the export: {sizes}", file=sys.stderr)
    return Initial(imported.graph, imported.counted)


def trace(graph: Graph, passes: Sequence[Pass]) -> tuple[Snapshot, ...]:
    """Run the passes on a copy and keep the graph after each; the first snapshot is the import.

    Raises:
        PassError, VerifyError: a pass did what it must not.
    """
    from dlrmc.passes import driver

    working = graph.copy()
    snapshots = [Snapshot(IMPORT, working.copy(), 0, IMPORT)]
    times: dict[str, int] = {}

    def keep(stage: driver.Stage, after: Graph) -> None:
        times[stage.name] = times.get(stage.name, 0) + 1
        name = stage.name if times[stage.name] == 1 else f"{stage.name}-{times[stage.name]}"
        summary = name + stage.summary.removeprefix(stage.name)
        snapshots.append(Snapshot(name, after.copy(), stage.changes, summary))

    driver.run(working, passes, on_stage=keep)
    return tuple(snapshots)


def pipeline() -> tuple[Pass, ...]:
    """All passes of the compiler, in order."""
    from dlrmc.passes.pipeline import PIPELINE

    return PIPELINE


def find_passes(names: Sequence[str]) -> tuple[Pass, ...]:
    """The passes of these names, in the order given; a name may stand more than once.

    Raises:
        PassError: an unknown name, with the nearest known one.
    """
    from dlrmc.passes import driver
    from dlrmc.passes.pipeline import PIPELINE, THEME_PASSES

    return driver.find_passes(names, (*PIPELINE, *THEME_PASSES))


def list_passes() -> str:
    """One pass a line with its reason: the pipeline in order, then the parts of it that `opt` knows."""
    from dlrmc.passes.pipeline import PIPELINE, THEME_PASSES

    passes = (*PIPELINE, *THEME_PASSES)
    width = max(len(each.name) for each in passes)
    return "".join(f"{each.name:{width}}  {each.why}\n" for each in passes)


def find_stage(snapshots: Sequence[Snapshot], name: str) -> Snapshot:
    """The snapshot of that name; `final` is the last of all.

    Raises:
        OptionError: an unknown name, with the nearest known one.
    """
    if name == FINAL:
        return snapshots[-1]
    for snapshot in snapshots:
        if snapshot.name == name:
            return snapshot
    known = [*(snapshot.name for snapshot in snapshots), FINAL]
    near = difflib.get_close_matches(name, known, n=1)
    raise OptionError(
        f"stage {name!r}",
        found="there is no such stage",
        expected="one of " + ", ".join(known),
        hint=f"did you mean {near[0]}?" if near else "",
    )
