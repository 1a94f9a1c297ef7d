"""Models of large tables with many ids a bag, at full size: scores, times beside the peers, memory.

    python benchmarks/large_tables.py                       # DLRM-DCNv2, 97.4 GiB of tables
    python benchmarks/large_tables.py --rows-scale 0.01     # a hundredth of the rows
    python benchmarks/large_tables.py --model rmc1,rmc2,rmc3 --profile

For each model: whether scores are right for uniform ids and for ids of the last rows (past 2^31 elements),
held against eager and against float64 on the first samples; event and wall microseconds by the protocol of
`dlrmc bench`; device memory that dlrmc takes beyond model and inputs, as torch's allocator and as the driver
see it. `--profile` adds the time of each kernel.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Iterator

import torch
from torch.utils import _pytree as pytree

from dlrmc.bench.ceilings import measure_ceilings
from dlrmc.bench.check import check
from dlrmc.bench.machine import describe_machine, find_gpu
from dlrmc.bench.multi_hot import (
    MULTI_HOT_PRESETS,
    MultiHotCell,
    build_multi_hot,
    exact_multi_hot_scores,
    multi_hot_inputs,
)
from dlrmc.bench.profile import REPEATS, measure_profile, profile_lines
from dlrmc.bench.sweep import matmul_precision
from dlrmc.bench.timing import CudaTimer, measure
from dlrmc.bench.variants.compiled import step
from dlrmc.bench.variants.eager import eager, eager_graph
from dlrmc.bench.variants.inductor import inductor
from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import CompileOptions, Request, Work
from dlrmc.bench.workload import Inputs
from dlrmc.runtime.kernel_timing import repeated_kernels

PEERS = {"eager": eager, "eager_graph": eager_graph, "inductor": inductor}
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
EXACT_SAMPLES = 256
LAST_ROWS = 1000
GIB = 2**30


def main() -> None:
    """Print the figures of every model asked for."""
    given = parse_arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    device = find_gpu()
    machine = describe_machine(device)
    print(f"{machine.gpu}, driver {machine.driver}, torch {machine.torch}, cupy {machine.cupy}")
    for name in given.model.split(","):
        for precision in given.precision.split(","):
            with torch.no_grad(), matmul_precision(precision):
                measure_model(name, precision, device, given)
            gc.collect()
            torch.cuda.empty_cache()


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="dcnv2", help=f"of {', '.join(MULTI_HOT_PRESETS)}, with commas")
    parser.add_argument("--rows-scale", type=float, default=1.0, help="times the rows of every table")
    parser.add_argument("--batch", type=int, default=0, help="instead of 2048")
    parser.add_argument("--tables", choices=DTYPES, default="fp32", help="what tables are stored as")
    parser.add_argument("--precision", default="fp32", help="of products: fp32, tf32, with commas")
    parser.add_argument("--peers", default="eager,eager_graph,inductor", help="with commas; empty for none")
    parser.add_argument("--profile", action="store_true", help="the time of each kernel")
    return parser.parse_args()


def measure_model(name: str, precision: str, device: torch.device, given: argparse.Namespace) -> None:
    """Build one model, compile it, and print what was found."""
    cell = MULTI_HOT_PRESETS[name].scaled(given.rows_scale)
    if given.batch:
        cell = MultiHotCell(**{**vars(cell), "batch": given.batch})
    work = make_work(cell, precision, device, DTYPES[given.tables])
    table_gib = cell.table_bytes * DTYPES[given.tables].itemsize / 4 / GIB
    print(
        f"\n{name}, batch {cell.batch}, {precision}: {len(cell.rows)} tables of {given.tables}, "
        f"{sum(cell.rows)} rows, {table_gib:.1f} GiB; {sum(cell.bags)} ids a sample, "
        f"{cell.gathered_bytes / 1e6:.0f} MB of float32 rows a request"
    )
    print_scores(work)
    runner = compile_within(work)
    print(f"{'variant':>12} {'event us':>9} {'wall us':>9} {'from eager':>10} {'from f64':>9}")
    print_times("dlrmc", work, runner)
    if given.profile:
        print("\n".join(profile_of(work, device, precision)))
    for peer in filter(None, given.peers.split(",")):
        try:
            print_times(peer, work, PEERS[peer](work))
        except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
            print(f"{peer:>12} failed: {str(error).splitlines()[0]}")


def make_work(cell: MultiHotCell, precision: str, device: torch.device, dtype: torch.dtype) -> Work:
    """The model on the device, and two requests with their exact scores."""
    start = time.perf_counter()
    model = build_multi_hot(cell, device, dtype=dtype)
    requests = [
        Request(
            title, tuple(pytree.tree_leaves(inputs)), (exact_multi_hot_scores(model, inputs, EXACT_SAMPLES),)
        )
        for title, inputs in request_inputs(cell)
    ]
    args = pytree.tree_map(lambda tensor: tensor.to(device, copy=True), multi_hot_inputs(cell))
    torch.cuda.synchronize()
    print(f"model and requests made in {time.perf_counter() - start:.1f} s")
    return Work(model, args, {}, requests, CompileOptions(precision))


def request_inputs(cell: MultiHotCell) -> Iterator[tuple[str, Inputs]]:
    """The requests: ids of all rows, and of the last ones."""
    yield "uniform ids", multi_hot_inputs(cell)
    yield "ids of the last rows", multi_hot_inputs(cell, 2, last_rows=LAST_ROWS)


def print_scores(work: Work) -> None:
    """How much scores differ from sample to sample: an error is to be seen against that."""
    for request, (scores,) in zip(work.requests, work.eager_values, strict=True):
        print(f"{request.name}: scores {scores.mean():.6f} +- {scores.std():.6f} (standard deviation)")


def compile_within(work: Work) -> Runner:
    """The bound program; what compiling and two calls took of the device's memory is printed."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    allocated, (free, _) = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()
    _program, export_s = work.exported
    compiled, compile_s = work.compiled
    runner = step(work)
    runner.call()
    compiled(*work.args)
    torch.cuda.synchronize()
    peak = (torch.cuda.max_memory_allocated() - allocated) / GIB
    taken = (free - torch.cuda.mem_get_info()[0]) / GIB
    print(
        f"export {export_s:.1f} s, compile {compile_s:.1f} s; memory beyond model and inputs: "
        f"{peak:.3f} GiB at most by torch's allocator, {taken:.3f} GiB by the driver"
    )
    return runner


def print_times(name: str, work: Work, runner: Runner) -> None:
    """One line of the table; the scores are checked first."""
    errors = check(work, runner)
    runner.arm()
    times = measure(runner.call, CudaTimer(work.device))
    print(
        f"{name:>12} {times.event_us:9.1f} {times.wall_us:9.1f} "
        f"{errors.eager_abs:10.1e} {errors.max_abs:9.1e}",
        flush=True,
    )


def profile_of(work: Work, device: torch.device, precision: str) -> list[str]:
    """The time of each kernel, against this GPU's measured limits."""
    timer = CudaTimer(device)
    compiled, _ = work.compiled
    kernels = repeated_kernels(compiled, work.args, work.kwargs, REPEATS)
    ceilings = measure_ceilings(device, timer)
    bound = compiled.bind(*work.args)
    return profile_lines(measure_profile(kernels, bound, timer, ceilings, is_tf32=precision != "fp32"))


if __name__ == "__main__":
    main()
