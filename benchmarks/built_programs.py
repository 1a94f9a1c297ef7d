"""What NVRTC, ptxas or a GPU's limits have against whole programs; needs no GPU.

    python -m benchmarks.built_programs                              # the presets of `dlrmc bench` for sm_90a
    python -m benchmarks.built_programs --zoo "" --batch 1 512 4096  # and the zoo at real sizes
    python -m benchmarks.built_programs --zoo DIN DCN --architecture sm_80 sm_86 --precision tf32

One line a program: its kernels and the seconds of process time in NVRTC; under it what was found. The exit
status is 1 where that is more than spills. Kernels that loop over tiles spill most: what the tiles share is
computed before the loop.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product

import torch

from dlrmc.bench.presets import PRESETS
from dlrmc.bench.workload import Cell, build_model, random_inputs
from dlrmc.errors import DlrmcError
from dlrmc.frontend import ImportedProgram, import_program
from tests.runtime.built_programs import Finding, emitted, findings
from tests.zoo.catalogue import EXCEPTIONS, is_installed, select
from tests.zoo.examine import quiet
from tests.zoo.model import REAL, ZooModel

SPILLS = ("spilled bytes", "stack bytes")
# The number of rows of a table is no part of a kernel's sizes.
ROWS = 1000


def main() -> int:
    """Build every program and print a line for it; the exit status."""
    given = parse_arguments()
    is_good = True
    for label, make in programs(given.batch, given.zoo):
        try:
            program = make()
        except Exception as error:  # some models of libraries fail in eager at batch 1
            print(f"{label}: no program, {type(error).__name__}", flush=True)
            continue
        for architecture, precision in product(given.architecture, given.precision):
            name = f"{label} {architecture} {precision}"
            found = build(name, program, architecture, precision)
            is_good &= all(finding.kind in SPILLS for finding in found)
    return 0 if is_good else 1


def build(name: str, program: ImportedProgram, architecture: str, precision: str) -> list[Finding]:
    """Emit and build one program, and print what was found."""
    try:
        module = emitted(program, architecture, precision)
        start = time.process_time()
        found = findings(module, architecture)
    except DlrmcError as error:
        found = [Finding("", "refused", str(error))]
        print(f"{name}: refused", flush=True)
    else:
        seconds = time.process_time() - start
        print(f"{name}: {len(module.kernels)} kernels, {seconds:.1f} s", flush=True)
    for finding in found:
        print("   ", *filter(None, (finding.kernel, f"{finding.kind}: {finding.detail}")), flush=True)
    return found


def programs(
    batches: list[int], patterns: list[str] | None
) -> Iterator[tuple[str, Callable[[], ImportedProgram]]]:
    """Names and makers of the presets' programs, then of the zoo's models whose label has a pattern."""
    for (name, cell), batch in product(PRESETS.items(), batches):
        sized = dataclasses.replace(cell, batch=batch, rows=ROWS)
        yield f"{name} B={batch}", lambda sized=sized: preset_program(sized)
    models = [] if patterns is None else select(patterns)
    models = [model for model in models if is_installed(model.library) and model.label not in EXCEPTIONS]
    for model, batch in product(models, batches):
        yield f"{model.label} B={batch}", lambda model=model, batch=batch: zoo_program(model, batch)


def preset_program(cell: Cell) -> ImportedProgram:
    """The plain DLRM of a cell."""
    return import_program(torch.export.export(build_model(cell, torch.device("cpu")), random_inputs(cell)))


def zoo_program(model: ZooModel, batch: int) -> ImportedProgram:
    """A model of the zoo at real sizes."""
    with quiet():
        example = model.example(batch, REAL)
        return import_program(torch.export.export(example.model, example.args, dict(example.kwargs)))


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, nargs="+", default=[128, 2048])
    parser.add_argument("--architecture", nargs="+", default=["sm_90a"])
    parser.add_argument("--precision", nargs="+", choices=("fp32", "tf32", "bf16"), default=["fp32"])
    parser.add_argument("--zoo", nargs="+", help='parts of labels of the zoo\'s models; "" is all')
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
