"""`torch.compile`, at its best and with its own CUDA graphs; and the same program ahead of time.

Source: PyTorch documentation of `torch.compile` (modes) and of `torch._inductor.aoti_compile_and_package`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dlrmc.bench.variants.runner import Runner, captured
from dlrmc.bench.work import Work
from dlrmc.bench.workload import PlainDlrm, StackedDlrm, packed_ids

# What writes to standard error for every product.
_STATISTICS = "max_autotune_report_choices_stats"
_AUTOTUNED = "max-autotune-no-cudagraphs"


def inductor(work: Work) -> Runner:
    """Max-autotuned, captured as a CUDA graph over static inputs."""
    with _prepared(work):
        start = time.perf_counter()
        call = _compiled(work, work.module, _AUTOTUNED, lambda model: model(*work.args, **work.kwargs))
        return Runner(captured(call), compile_s=time.perf_counter() - start)


def reduce_overhead(work: Work) -> Runner:
    """The mode that captures CUDA graphs by itself and copies inputs into them."""
    with _prepared(work):
        start = time.perf_counter()
        call = _compiled(work, work.module, "reduce-overhead", lambda model: model(*work.args, **work.kwargs))
        call()  # the first call warms up, the second captures
        return Runner(call, compile_s=time.perf_counter() - start)


def stacked(work: Work) -> Runner:
    """The model rewritten by hand for one table and packed ids, max-autotuned and captured."""
    if not isinstance(work.module, PlainDlrm):
        raise TypeError("only the plain DLRM has a rewrite")
    cell, (dense, _, ids) = work.module.cell, work.args
    packed = packed_ids(cell, ids)
    rewritten = StackedDlrm(work.module).eval()
    with _prepared(work):
        start = time.perf_counter()
        call = _compiled(work, rewritten, _AUTOTUNED, lambda model: model(dense, packed))
        compile_s = time.perf_counter() - start
        return Runner(
            captured(call), refresh=lambda: _copy(packed, packed_ids(cell, ids)), compile_s=compile_s
        )


def ahead_of_time(work: Work) -> Runner:
    """AOTInductor's package, max-autotuned; captured as a CUDA graph where it lets itself be."""
    program, export_s = work.exported
    with _prepared(work), tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        path = str(Path(folder) / "program.pt2")
        with work.gpu.released():
            torch._inductor.aoti_compile_and_package(
                program, package_path=path, inductor_configs={"max_autotune": True}
            )
        package = torch._inductor.aoti_load_package(path)
        compile_s = time.perf_counter() - start

    def call() -> Any:
        return package(*work.args, **work.kwargs)

    try:
        return Runner(captured(call), compile_s=compile_s, export_s=export_s)
    except RuntimeError as error:
        note = f"no CUDA graph: {str(error).splitlines()[0]}"
        return Runner(call, compile_s=compile_s, export_s=export_s, note=note)


def _compiled(work: Work, module: nn.Module, mode: str, use: Callable[[Any], Any]) -> Callable[[], Any]:
    """The compiled module as a call, compiled by being called once."""
    compiled = torch.compile(module, mode=mode, dynamic=False)

    def call() -> Any:
        return use(compiled)

    with work.gpu.released():
        call()
        torch.cuda.synchronize()
    return call


@contextlib.contextmanager
def _prepared(work: Work) -> Iterator[None]:
    """Nothing left of earlier compilations in dynamo, no tables of autotuning on standard error.

    The measurements of the autotuner take the GPU's turn.
    """
    torch.compiler.reset()
    selection: Any = importlib.import_module("torch._inductor.select_algorithm")
    was_printing = getattr(selection, "PRINT_AUTOTUNE", None)
    with contextlib.ExitStack() as stack:
        if work.options.cold:
            stack.enter_context(importlib.import_module("torch._inductor.utils").fresh_cache())
        inductor_config = importlib.import_module("torch._inductor.config")
        if hasattr(inductor_config, _STATISTICS):
            stack.enter_context(inductor_config.patch(**{_STATISTICS: False}))
        if was_printing is not None:
            selection.PRINT_AUTOTUNE = False
            stack.callback(setattr, selection, "PRINT_AUTOTUNE", was_printing)
        stack.enter_context(_benchmarks_within(work.gpu.held))
        yield


@contextlib.contextmanager
def _benchmarks_within(turn: Callable[[], contextlib.AbstractContextManager[None]]) -> Iterator[None]:
    """Every measurement of inductor's autotuners is made in a context of `turn`.

    Source: torch/_inductor/runtime/benchmarking.py: autotuners of products and of Triton kernels call
    `benchmark_gpu` of one object, directly or through its `benchmark`.
    """
    benchmarker: Any = importlib.import_module("torch._inductor.runtime.benchmarking").benchmarker
    benchmark_gpu = benchmarker.benchmark_gpu

    @functools.wraps(benchmark_gpu)
    def in_turn(*args: Any, **kwargs: Any) -> Any:
        with turn():
            return benchmark_gpu(*args, **kwargs)

    benchmarker.benchmark_gpu = in_turn
    try:
        yield
    finally:
        benchmarker.benchmark_gpu = benchmark_gpu


def _copy(target: torch.Tensor, values: torch.Tensor) -> None:
    target.copy_(values)
