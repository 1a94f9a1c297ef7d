"""Compile times of the plain DLRM, each in a fresh process: seconds of `dlrmc.compile`, without the export.

    python benchmarks/compile_time.py                       # 32 tables, batch 2048
    python benchmarks/compile_time.py --tables 26 --dim 128 --dense 13 --bottom 512,256 --top 1024,512,256,1

Three cases: `off` and `fast` are `tune="off"` and `tune="fast"` from an empty cache; `warm` is `tune="off"`
from the cache that `off` has filled. The first request's time stands beside them: it loads the kernels.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from dlrmc.bench.grid import parse_sizes
from dlrmc.bench.work import CompileOptions, cell_work
from dlrmc.bench.workload import Cell

ASKED_S = (("off", 2.0), ("fast", 10.0), ("warm", 0.5))


def main() -> None:
    """Measure each case some times; in a process that is started for one, measure that."""
    given = parse_arguments()
    if given.once is not None:
        print(json.dumps(measure_once(cell_of(given), given.tune, given.once)))
        return
    print(f"seconds, median of {given.runs} fresh processes; {describe()}; {cell_of(given)}")
    print(
        f"{'case':>6} {'compile':>8} {'asked':>6} {'slowest':>8} {'first request':>14} {'whole process':>14}"
    )
    for case, asked_s in ASKED_S:
        found = [measure_in_process(case) for _ in range(given.runs)]
        compile_s, request_s, process_s = (
            [each[name] for each in found] for name in ("compile", "request", "process")
        )
        print(
            f"{case:>6} {statistics.median(compile_s):8.2f} {asked_s:6.1f} {max(compile_s):8.2f} "
            f"{statistics.median(request_s):14.3f} {statistics.median(process_s):8.1f}",
            flush=True,
        )


def measure_in_process(case: str) -> dict[str, float]:
    """The times of one process with a cache of its own; for `warm`, one that another process has filled."""
    with tempfile.TemporaryDirectory() as cache:
        if case == "warm":
            start_process("off", cache)
        return start_process("fast" if case == "fast" else "off", cache)


def start_process(tune: str, cache: str) -> dict[str, float]:
    """Run this file for one compilation."""
    command = [sys.executable, __file__, *sys.argv[1:], "--once", cache, "--tune", tune]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return {**json.loads(done.stdout.splitlines()[-1]), "process": time.perf_counter() - start}


def measure_once(cell: Cell, tune: str, cache: str) -> dict[str, float]:
    """Export, compile and score in this process."""
    import dlrmc

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    work = cell_work(cell, device, CompileOptions())
    program, _ = work.exported
    compile_program = dlrmc.compile  # imports the compiler
    start = time.perf_counter()
    compiled = compile_program(program, tune=tune, cache_dir=Path(cache))
    compile_s = time.perf_counter() - start
    start = time.perf_counter()
    scores = compiled(*work.args)
    scores.cpu()
    return {"compile": compile_s, "request": time.perf_counter() - start}


def describe() -> str:
    """The GPU and the versions."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"{gpu}, torch {torch.__version__}"


def cell_of(given: argparse.Namespace) -> Cell:
    """The sizes asked for."""
    return Cell(
        given.tables,
        given.batch,
        dim=given.dim,
        bag=given.bag,
        dense=given.dense,
        bottom=parse_sizes("--bottom", given.bottom),
        top=parse_sizes("--top", given.top),
    )


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tables", type=int, default=32)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--bag", type=int, default=2)
    parser.add_argument("--dense", type=int, default=3)
    parser.add_argument("--bottom", default="64")
    parser.add_argument("--top", default="64,32,1")
    parser.add_argument("--once", metavar="CACHE", help=argparse.SUPPRESS)
    parser.add_argument("--tune", default="off", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
