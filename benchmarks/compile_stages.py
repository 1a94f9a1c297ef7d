"""CPU time of the stages of one compilation of the plain DLRM; needs no GPU.

    python benchmarks/compile_stages.py                          # 2, 32, 128 and 600 tables
    python benchmarks/compile_stages.py --tables 32 --retrace    # torch traces every program again

`import` is everything before the passes, `passes` has the verification after each in it, `emit` the plan;
`NVRTC` compiles the source for sm_90a, and `lookup` takes the module from a disk cache that has it. Seconds
of process time, each the least of some runs: what else the machine does is left out.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from dlrmc.bench.work import CompileOptions, cell_work
from dlrmc.bench.workload import Cell
from dlrmc.codegen.emit import emit_module
from dlrmc.frontend import canon, import_program
from dlrmc.passes import driver
from dlrmc.passes.pipeline import PIPELINE
from dlrmc.runtime.module_cache import ModuleCache
from dlrmc.runtime.targets import WARPGROUPS
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.limits import DeviceLimits

LIMITS = DeviceLimits(architecture=90, has_warpgroups=True)
STAGES = ("import", "passes", "emit", "NVRTC", "lookup")


def main() -> None:
    """Measure each number of tables and print one line for it."""
    given = parse_arguments()
    print(f"seconds of process time, least of {given.runs}; torch {torch.__version__}")
    print(f"{'tables':>6}" + "".join(f"{stage:>9}" for stage in STAGES))
    for tables in given.tables:
        work = cell_work(Cell(tables, given.batch), torch.device("cpu"), CompileOptions())
        program, _ = work.exported
        runs = [measure_stages(program, retrace=given.retrace) for _ in range(given.runs)]
        print(f"{tables:6d}" + "".join(f"{min(run[s] for run in runs):9.3f}" for s in STAGES), flush=True)


def measure_stages(program: torch.export.ExportedProgram, *, retrace: bool) -> dict[str, float]:
    """The process time of each stage."""
    times: dict[str, float] = {}

    def timed(stage: str, work: Callable[..., Any], *args: Any) -> Any:
        gc.collect()  # what earlier stages left behind is not this one's
        start = time.process_time()
        result = work(*args)
        times[stage] = time.process_time() - start
        return result

    at_canon = (lambda program: False) if retrace else canon.is_at_canon
    with mock.patch.object(canon, "is_at_canon", at_canon):
        imported = timed("import", import_program, program)
    graph = imported.graph.copy()
    timed("passes", driver.run, graph, PIPELINE)
    module = timed("emit", lambda: emit_module(build_plan(graph, imported.counted), LIMITS, graph, "fp32"))
    with tempfile.TemporaryDirectory() as folder:
        timed("NVRTC", ModuleCache(Path(folder)).get, module.text, WARPGROUPS)
        timed("lookup", ModuleCache(Path(folder)).get, module.text, WARPGROUPS)
    return times


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, nargs="*", default=[2, 32, 128, 600])
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--retrace", action="store_true", help="as if no program were at canon")
    return parser.parse_args()


if __name__ == "__main__":
    main()
