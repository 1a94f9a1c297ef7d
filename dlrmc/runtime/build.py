"""What the compiler hands to the runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dlrmc.codegen.source import ModuleSource
from dlrmc.frontend.program import ImportedProgram
from dlrmc.ir.graph import Graph
from dlrmc.options import Options
from dlrmc.runtime.targets import Target
from dlrmc.schedule.plan import Plan


@dataclass(frozen=True)
class Build:
    """Everything that the compiler made of one exported program.

    Args:
        program: as imported.
        imported_text: the IR before the passes.
        imported_ops: how many nodes of each op it had, leaves left out.
        graph: the same after all passes.
        plan: launches and buffers of `graph`.
        module: the emitted source, one kernel for each launch.
        target: where it will run.
        options: as given.
    """

    program: ImportedProgram
    imported_text: str
    imported_ops: Mapping[str, int]
    graph: Graph
    plan: Plan
    module: ModuleSource
    target: Target
    options: Options
