"""Compile times of the plain DLRM, each in a fresh process: seconds of `dlrmc.compile`, without the export.

    python benchmarks/compile_time.py                       # 32 tables, batch 2048
    python benchmarks/compile_time.py --tables 26 --dim 128 --dense 13 --bottom 512,256 --top 1024,512,256,1

Three cases: `off` and `fast` are `tune="off"` and `tune="fast"` from an empty cache; `warm` is `tune="off"`
from the cache that `off` has filled. Beside them stand what a process pays once, the imports of the compiler
and of cupy, and the first request, which loads the kernels. A full garbage collection may fall into a
compilation by chance and takes as long as the process is large: its time is in `compile`, and shown.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from dlrmc.bench.grid import parse_sizes
from dlrmc.bench.work import CompileOptions, cell_work
from dlrmc.bench.workload import Cell

ASKED_S = (("off", 2.0), ("fast", 10.0), ("warm", 0.5))
COLUMNS = ("compile", "of it gc", "first request", "imports", "export", "process")


def main() -> None:
    """Measure each case some times; in a process that is started for one, measure that."""
    given = parse_arguments()
    if given.once is not None:
        print(json.dumps(measure_once(cell_of(given), given.tune, given.once)))
        return
    print(f"seconds, median of {given.runs} fresh processes; {describe()}; {cell_of(given)}")
    print(f"{'case':>6} {'asked':>6} {'slowest':>8}" + "".join(f" {column:>13}" for column in COLUMNS))
    runs = [measure_cases() for _ in range(given.runs)]
    for case, asked_s in ASKED_S:
        found = [run[case] for run in runs]
        slowest = max(each["compile"] for each in found)
        medians = [statistics.median(each[column] for each in found) for column in COLUMNS]
        print(f"{case:>6} {asked_s:6.1f} {slowest:8.2f}" + "".join(f" {median:13.3f}" for median in medians))


def measure_cases() -> dict[str, dict[str, float]]:
    """The times of each case by column; `warm` finds what `off` has left in its cache."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as other:
        off, warm = start_process("off", cache), start_process("off", cache)
        return {"off": off, "fast": start_process("fast", other), "warm": warm}


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
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    work = cell_work(cell, device, CompileOptions())
    program, export_s = work.exported
    start = time.perf_counter()
    compile_program = importlib.import_module("dlrmc").compile  # imports the compiler
    if device.type == "cuda":
        importlib.import_module("cupy.cuda")
    imported = time.perf_counter()
    with counted_collections() as collected:
        compiled = compile_program(program, tune=tune, cache_dir=Path(cache))
    compile_s = time.perf_counter() - imported
    start_request = time.perf_counter()
    scores = compiled(*work.args)
    scores.cpu()
    return {
        "compile": compile_s,
        "of it gc": sum(collected),
        "first request": time.perf_counter() - start_request,
        "imports": imported - start,
        "export": export_s,
    }


@contextlib.contextmanager
def counted_collections() -> Iterator[list[float]]:
    """The seconds of each garbage collection within."""
    seconds: list[float] = []
    started = 0.0

    def watch(phase: str, _: dict[str, int]) -> None:
        nonlocal started
        if phase == "start":
            started = time.perf_counter()
        else:
            seconds.append(time.perf_counter() - started)

    gc.callbacks.append(watch)
    try:
        yield seconds
    finally:
        gc.callbacks.remove(watch)


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
