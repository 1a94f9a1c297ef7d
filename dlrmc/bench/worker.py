"""One process of a sweep with several: measures the cells that it is given, and takes turns on the GPU."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

import torch

from dlrmc.bench.first_uses import make_first_uses
from dlrmc.bench.gpu_access import GpuAccess, SharedGpuAccess, Turn
from dlrmc.bench.progress import Progress
from dlrmc.bench.sweep import Bench, DeviceLostError, Origin, free_cell, measure_cell
from dlrmc.bench.tasks import Task
from dlrmc.bench.variants import Variant

MakeBench = Callable[[GpuAccess], Bench]
_COMPILE_THREADS = "TORCHINDUCTOR_COMPILE_THREADS"


@dataclass(frozen=True)
class Hello:
    """A worker is up, at the head of a process group of its own."""

    origin: Origin


@dataclass(frozen=True)
class Next:
    """A worker has no cell. The answer is a `Task`, or None at the end."""


@dataclass(frozen=True)
class Lost:
    """A worker ends before its cell is done, for this reason."""

    reason: str


@dataclass(frozen=True)
class Granted:
    """The answer to a `Turn` that is answered."""


def serve(link: Any, make_bench: MakeBench, variants: Sequence[Variant], threads: int) -> None:
    """The main function of a worker: cells from the link until there are none, their rows to the link.

    Args:
        link: a `multiprocessing` connection to `dlrmc.bench.pool`.
        make_bench: makes the bench from this process's access to the GPU.
        variants: to measure in each cell.
        threads: for torch on the CPU; compilers have twice as many, since workers wait for their turns.
    """
    os.setpgid(0, 0)  # so that it can be stopped with the compilers that it starts
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _limit_threads(threads)

    def ask(turn: Turn) -> None:
        link.send(turn)
        if turn in (Turn.TAKE, Turn.QUIET):
            link.recv()

    benches: list[Bench] = []
    gpu = SharedGpuAccess(ask, lambda: benches[0].timer.synchronize() if benches else None)
    bench = make_bench(gpu)
    benches.append(bench)
    link.send(Hello(bench.origin))
    if bench.device.type == "cuda":
        make_first_uses(bench.device)
    gc.freeze()  # what is imported is never garbage: the collections before times are taken need not see it
    while True:
        link.send(Next())
        task = link.recv()
        if task is None:
            return
        try:
            _measure(bench, task, variants, link)
        except DeviceLostError as error:
            link.send(Lost(str(error).splitlines()[0]))
            return


def _measure(bench: Bench, task: Task, variants: Sequence[Variant], link: Any) -> None:
    with bench.gpu.held():
        for row in measure_cell(bench, task, variants, Progress()):
            link.send(row)
        free_cell(bench.device)


def _limit_threads(threads: int) -> None:
    """Leave the other workers their cores; what the user has set himself stays."""
    torch.set_num_threads(threads)
    if _COMPILE_THREADS in os.environ:
        return
    os.environ[_COMPILE_THREADS] = str(2 * threads)
    from torch._inductor import config

    config.compile_threads = 2 * threads


def _end_with_parent() -> None:
    """A parent that is killed leaves nobody who would give out turns or let stopped workers go on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os.killpg(0, signal.SIGKILL)
