"""The whole compiler on one screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dlrmc.codegen.emit import emit_module, tf32_factors
from dlrmc.codegen.source import ModuleSource
from dlrmc.frontend import ImportedProgram, import_program, prepare
from dlrmc.ir.graph import Graph
from dlrmc.ir.node import LEAVES
from dlrmc.ir.printer import print_graph
from dlrmc.options import Options
from dlrmc.passes import driver
from dlrmc.passes.pass_types import Pass
from dlrmc.passes.pipeline import PIPELINE
from dlrmc.passes.round_factors import round_factors
from dlrmc.runtime.build import Build
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.dynamic import DynamicCompiled
from dlrmc.runtime.specialise import Specialiser, check_is_dynamic
from dlrmc.runtime.targets import choose_target
from dlrmc.runtime.tuner import tune_program
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.limits import DeviceLimits
from dlrmc.schedule.plan import Plan

if TYPE_CHECKING:
    from torch.export import ExportedProgram


def compile(exported_program: ExportedProgram, **options: Any) -> Compiled:
    """Compile an exported program.

    A program with dynamic dimensions is specialised for each set of sizes when a call first has them, and
    ahead for those of `batch_sizes`.

    Args:
        exported_program: of `torch.export.export`, with inference semantics (`model.eval()`).
        **options: the fields of `dlrmc.Options`, by name.

    Raises:
        OptionError: an option is unknown or out of range, or `batch_sizes` does not fit the program.
        UnsupportedOpsError: the program has ops that dlrmc cannot compile; all of them are listed.
        FrontendError: the program cannot be imported for another reason.
        CompileError: the target's compiler is missing or fails.
    """
    chosen = Options.of(**options)
    prepared = prepare(exported_program)
    if prepared.is_dynamic:
        return DynamicCompiled(Specialiser(prepared, chosen, build_program))
    check_is_dynamic(chosen.batch_sizes)
    return Compiled(build_program(prepared.specialise(), chosen))


def build(exported_program: ExportedProgram, options: Options) -> Build:
    """Everything but loading of a program with fixed sizes: import, passes, plan and emitted source."""
    return build_program(import_program(exported_program), options)


def lower(
    graph: Graph, counted: Sequence[int], limits: DeviceLimits, precision: str
) -> tuple[Plan, ModuleSource]:
    """Plan and emitted source of a graph that all passes have seen.

    Args:
        graph: what is rounded once at load is added to it.
        counted: the numbers of the inputs whose number of ids is read at run time.
        limits: what one kernel may use.
        precision: `fp32`, `tf32` or `bf16`.
    """
    plan = build_plan(graph, counted)
    module = emit_module(plan, limits, graph, precision)
    # Only the emitter knows which products are of TF32 factors.
    if round_factors(graph, tf32_factors(plan, module)):
        plan = build_plan(graph, counted)
        module = emit_module(plan, limits, graph, precision)
    return plan, module


def build_program(program: ImportedProgram, options: Options, passes: Sequence[Pass] | None = None) -> Build:
    """Passes (by default all, in order), plan and emitted source of an imported program."""
    graph = program.graph.copy()
    driver.run(graph, PIPELINE if passes is None else passes)
    target = choose_target(options, program.weights)
    tune_program(graph, program.weights, target, options)
    counted = () if target.name == "reference" else program.counted
    plan, module = lower(graph, counted, target.limits, options.precision)
    return Build(
        program=program,
        imported_text=print_graph(program.graph),
        imported_ops=Counter(node.op.name for node in program.graph.nodes if not node.is_op(*LEAVES)),
        graph=graph,
        plan=plan,
        module=module,
        target=target,
        options=options,
    )
