"""A sweep by several processes: they compile at the same time, and use the GPU one after the other."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import connection
from typing import Any

from dlrmc.bench.gpu_access import Turn
from dlrmc.bench.gpu_turns import GpuTurns
from dlrmc.bench.progress import SILENT, Progress
from dlrmc.bench.records import CsvFile, Row
from dlrmc.bench.standstill import wait_for_standstill
from dlrmc.bench.sweep import failed_row
from dlrmc.bench.tasks import Task, in_tuning_order
from dlrmc.bench.variants import Variant
from dlrmc.bench.worker import Granted, Hello, Lost, MakeBench, Next, serve
from dlrmc.errors import DlrmcError

_JOIN_S = 10.0


class WorkerError(DlrmcError):
    """A worker ended before it could measure anything."""


def sweep_with_jobs(
    make_bench: MakeBench,
    tasks: Sequence[Task],
    variants: Sequence[Variant],
    file: CsvFile,
    *,
    jobs: int,
    max_seconds: float = float("inf"),
    progress: Progress = SILENT,
) -> list[Row]:
    """Measure all tasks as `sweep` does, several at a time; docs/performance.md says how.

    All variants of a cell are measured by one process. A process that dies leaves a failed row for each
    variant of its cell that it had not measured, and another one takes its place.

    Args:
        make_bench: makes the bench of a worker; must be importable by name.
        tasks: done in the order of `in_tuning_order`.
        variants: to measure in each cell.
        file: gets each row when it is there.
        jobs: processes.
        max_seconds: as for `sweep`.
        progress: told of cells and rows.

    Returns:
        The new rows.

    Raises:
        WorkerError: a worker ended before it could measure anything.
    """
    pool = _Pool(make_bench, tasks, variants, file, max_seconds, progress)
    with _termination_as_exit():
        try:
            pool.run(jobs)
        finally:
            pool.close()
    return pool.rows


@dataclass
class _Worker:
    number: int
    process: Any
    link: Any
    hello: Hello | None = None
    task: Task | None = None
    begun_s: float = 0.0
    measured: list[str] = field(default_factory=list)
    reason: str = ""

    def tell(self, message: Any) -> None:
        """Send to the worker; where it has just ended, that is seen when it is heard next."""
        with contextlib.suppress(ConnectionError):
            self.link.send(message)

    def signal(self, number: signal.Signals) -> None:
        """To the worker and the compilers that it has started; to it alone before it heads a group."""
        with contextlib.suppress(ProcessLookupError):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                os.kill(self.process.pid, number)


class _Pool:
    def __init__(
        self,
        make_bench: MakeBench,
        tasks: Sequence[Task],
        variants: Sequence[Variant],
        file: CsvFile,
        max_seconds: float,
        progress: Progress,
    ) -> None:
        self.rows: list[Row] = []
        self._make_bench, self._variants, self._file, self._progress = make_bench, variants, file, progress
        self._left = deque(in_tuning_order(tasks))
        self._count, self._begun = len(tasks), 0
        self._start_s, self._longest_s, self._max_s = time.monotonic(), 0.0, max_seconds
        self._context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
        self._workers: dict[int, _Worker] = {}
        self._threads = 1
        self._turns = GpuTurns(
            grant=lambda number: self._workers[number].tell(Granted()),
            stop=self._stop,
            go_on=lambda number: self._workers[number].signal(signal.SIGCONT),
        )

    def run(self, jobs: int) -> None:
        """Until all tasks are done or time is up."""
        self._threads = max(1, len(os.sched_getaffinity(0)) // jobs)
        for number in range(min(jobs, len(self._left))):
            self._start(number)
        while self._workers:
            workers = list(self._workers.values())
            connection.wait([end for worker in workers for end in (worker.link, worker.process.sentinel)])
            for worker in workers:
                self._hear(worker)

    def close(self) -> None:
        """End whatever still runs."""
        for worker in self._workers.values():
            worker.process.kill()
            if worker.hello is not None:
                worker.signal(signal.SIGKILL)
            worker.process.join(_JOIN_S)

    def _start(self, number: int) -> None:
        ours, theirs = self._context.Pipe()
        arguments = (theirs, self._make_bench, self._variants, self._threads)
        process = self._context.Process(target=serve, args=arguments)
        process.start()
        theirs.close()
        self._workers[number] = _Worker(number, process, ours)
        self._turns.join(number)

    def _stop(self, numbers: Sequence[int]) -> None:
        workers = [self._workers[number] for number in numbers]
        for worker in workers:
            worker.signal(signal.SIGSTOP)
        wait_for_standstill({worker.process.pid for worker in workers})

    def _hear(self, worker: _Worker) -> None:
        """Handle one message of a worker, or its end."""
        try:
            if worker.link.poll():
                self._handle(worker, worker.link.recv())
            elif not worker.process.is_alive() and not worker.link.poll():
                self._end(worker)
        except (EOFError, ConnectionError):
            self._end(worker)

    def _handle(self, worker: _Worker, message: Any) -> None:
        match message:
            case Turn():
                self._turns.handle(worker.number, message)
            case Hello():
                worker.hello = message
            case Next():
                self._hand_out(worker)
            case Row():
                worker.measured.append(message.variant)
                self._keep(message)
            case Lost():
                worker.reason = message.reason

    def _hand_out(self, worker: _Worker) -> None:
        now_s = time.monotonic()
        if worker.task is not None:
            self._longest_s = max(self._longest_s, now_s - worker.begun_s)
        is_late = now_s - self._start_s + self._longest_s > self._max_s
        worker.task = None if is_late or not self._left else self._left.popleft()
        worker.begun_s, worker.measured = now_s, []
        if worker.task is not None:
            self._begun += 1
            self._progress.cell(worker.task, self._begun, self._count)
        worker.tell(worker.task)

    def _keep(self, row: Row) -> None:
        self.rows.append(row)
        self._file.append(row)
        self._progress.row(row)

    def _end(self, worker: _Worker) -> None:
        """A worker has ended: at the end of the tasks, or before."""
        worker.process.join(_JOIN_S)
        self._turns.leave(worker.number)
        worker.signal(signal.SIGKILL)  # compilers that it has left behind
        del self._workers[worker.number]
        if worker.hello is None:
            raise WorkerError(
                "a worker of the sweep",
                found=f"{_ending(worker.process.exitcode)} before it could measure anything",
                expected="a process that can use the GPU",
                hint="its own message stands above; fewer --jobs need less memory",
            )
        if worker.task is None:
            return
        status = worker.reason or f"the worker process {_ending(worker.process.exitcode)}"
        for variant in self._variants:
            if variant.name not in worker.measured:
                self._keep(failed_row(worker.hello.origin, worker.task, variant, status))
        if self._left:
            self._start(worker.number)


def _ending(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"ended by {signal.Signals(-exit_code).name}"
    return f"ended with code {exit_code}"


@contextlib.contextmanager
def _termination_as_exit() -> Iterator[None]:
    """SIGTERM unwinds the stack as Ctrl-C does, so that no worker is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
