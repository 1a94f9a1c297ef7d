"""Models of open libraries on a GPU at real sizes: dlrmc beside eager, CUDA graphs and inductor.

    python benchmarks/zoo.py --list                            # what can be made here
    python benchmarks/zoo.py --out zoo.csv --jobs 8            # the usual twenty at batch 512 and 4096
    python benchmarks/zoo.py --out zoo.csv --models DCN PLE --batch 512 --resume

Each model and batch size has a process of its own. The processes of one wave prepare side by side: export,
compile, autotune, capture. When all are ready they measure one after the other, so that no number is taken
while another process uses the GPU. (Autotuning is not alone on it: with `--jobs 1` it is.) Correctness is
checked before a variant is timed; rows are as those of `dlrmc bench`, with the batch size in `batch`.
"""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from dlrmc.bench.records import NO_SIZES, CsvFile, Row
from dlrmc.bench.sweep import Bench, Progress, matmul_precision, measure_work
from dlrmc.bench.text_table import number, table_lines
from dlrmc.bench.variants import VARIANTS, Variant
from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import CompileOptions, Request, Work
from tests.zoo.catalogue import is_installed, select
from tests.zoo.examine import in_float64
from tests.zoo.model import REAL, ZooModel, on_device

BATCHES = (512, 4096)
PEERS = ("eager", "eager_graph", "inductor")
NAMES = ("dlrmc", *PEERS)
# From every kind: towers, crosses, factorisation machines, attention, recurrence, several tasks.
USUAL = (
    "torchfm/fm",
    "torchfm/ipnn",
    "torchfm/nfm",
    "torchfm/xdfm",
    "torchfm/afi",
    "torchfm/afn",
    "deepctr-torch/DeepFM",
    "deepctr-torch/DCNMix",
    "deepctr-torch/FiBiNET",
    "deepctr-torch/DIN dice",
    "deepctr-torch/PLE",
    "torch-rechub/WideDeep",
    "torch-rechub/DCNv2 parallel matrix",
    "torch-rechub/EDCN hadamard_product",
    "torch-rechub/BST",
    "torch-rechub/MMOE",
    "torch-rechub/DSSM",
    "torch-rechub/YoutubeDNN",
    "torch-rechub/SASRec",
    "torch-rechub/HSTU",
)


@dataclasses.dataclass(frozen=True)
class Task:
    """One model at one batch size."""

    label: str
    batch: int

    @property
    def key(self) -> tuple[str, int]:
        """What identifies its rows."""
        return self.label, self.batch


def make_work(model: ZooModel, batch: int, device: torch.device) -> Work:
    """The model at real sizes on the device, with float64 results where its code lets it have them."""
    example = model.example(batch, REAL)
    leaves = tuple(
        t for t in pytree.tree_leaves((example.args, example.kwargs)) if isinstance(t, torch.Tensor)
    )
    exact = in_float64(example)
    truths = tuple(t for t in pytree.tree_leaves(exact) if isinstance(t, torch.Tensor))
    moved = on_device(example, device.type)
    request = Request("the inputs", leaves, truths)
    return Work(moved.model, moved.args, dict(moved.kwargs), [request], CompileOptions())


def prepared(variant: Variant, work: Work) -> Variant:
    """The variant as it is when it has compiled: what preparing it gave, or the error that it ended in."""
    try:
        runner = variant.prepare(work)
    except Exception as error:
        failure = error

        def fail(_work: Work) -> Runner:
            raise failure

        return dataclasses.replace(variant, prepare=fail)
    return dataclasses.replace(variant, prepare=lambda _work: runner)


def work_on(task: Task, names: Sequence[str], run: str, pipe: Connection) -> None:
    """A process: prepare, say so, wait for the turn, measure, send the rows."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    device = torch.device("cuda", torch.cuda.current_device())
    bench = dataclasses.replace(Bench.on_gpu(device), run=run)
    [model] = [each for each in select([task.label]) if each.label == task.label]
    with torch.no_grad(), matmul_precision("fp32"):
        work = make_work(model, task.batch, device)
        ready = [prepared(variant, work) for variant in VARIANTS if variant.name in names]
        torch.cuda.synchronize()
    pipe.send(_sizes(work))
    pipe.recv()
    facts = {"model": task.label, **NO_SIZES, "batch": task.batch}
    pipe.send(list(measure_work(bench, work, ready, facts, Progress())))
    pipe.recv()


def _sizes(work: Work) -> str:
    """What the passes made of the model, from the report."""
    try:
        compiled, seconds = work.compiled
    except Exception as error:
        return f"dlrmc: {error}".splitlines()[0]
    facts = [line.strip() for line in compiled.report().splitlines() if line.startswith("  after ")]
    return f"{seconds:.1f} s, {'; '.join(facts)}"


class Wave:
    """Processes that prepare side by side and measure in turn."""

    def __init__(self, tasks: Sequence[Task], names: Sequence[str], run: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._members: list[tuple[Task, Any, Connection]] = []
        for task in tasks:
            ours, theirs = context.Pipe()
            process = context.Process(target=work_on, args=(task, names, run, theirs), daemon=True)
            process.start()
            theirs.close()
            self._members.append((task, process, ours))

    def measure(self, prepare_s: float, take: Callable[[Task, list[Row]], None]) -> None:
        """Take the rows of every task that is ready in time; the others are said and given up."""
        deadline = time.monotonic() + prepare_s
        ready = [member for member in self._members if self._is_ready(member, deadline)]
        for task, process, pipe in ready:
            pipe.send("measure")
            try:
                take(task, pipe.recv())
                pipe.send("end")
            except EOFError:
                print(f"{task.label} {task.batch}: its process died while it measured", flush=True)
            process.join(20)
        for _, process, _ in self._members:
            process.kill()

    @staticmethod
    def _is_ready(member: tuple[Task, Any, Connection], deadline: float) -> bool:
        task, process, pipe = member
        try:
            if pipe.poll(max(0.0, deadline - time.monotonic())):
                print(f"{task.label} {task.batch}: {pipe.recv()}", flush=True)
                return True
            print(f"{task.label} {task.batch}: not ready in time", flush=True)
        except EOFError:
            print(f"{task.label} {task.batch}: its process died while it prepared", flush=True)
        process.kill()
        return False


def show(rows: Sequence[Row]) -> None:
    """Print microseconds by the wall a call, and how much faster than its best peer dlrmc is."""
    lines = []
    for key in dict.fromkeys((row.model, row.batch) for row in rows):
        own = {row.variant: row for row in rows if (row.model, row.batch) == key}
        times = [own[name].wall_us if name in own and own[name].is_ok else None for name in NAMES]
        peers = [time_us for time_us in times[1:] if time_us is not None]
        ratio = f"{min(peers) / times[0]:.2f}" if peers and times[0] else "-"
        lines.append([key[0], str(key[1]), *map(number, times), ratio])
    print("\n".join(table_lines(["model", "batch", *NAMES, "best peer / dlrmc"], lines)))
    for row in rows:
        if not row.is_ok:
            print(f"{row.model} {row.batch} {row.variant}: {row.status}")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="*", default=USUAL, help="parts of labels; `all` for the whole zoo")
    parser.add_argument("--batch", type=int, nargs="*", default=BATCHES)
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=[v.name for v in VARIANTS])
    parser.add_argument("--out", type=Path, default=Path("zoo.csv"))
    parser.add_argument("--jobs", type=int, default=1, help="processes that prepare side by side")
    parser.add_argument("--resume", action="store_true", help="leave out what the file has")
    parser.add_argument("--prepare-seconds", type=float, default=300, help="for one wave")
    parser.add_argument("--max-seconds", type=float, default=float("inf"), help="begin no wave after these")
    parser.add_argument("--list", action="store_true", help="print the models and end")
    return parser.parse_args(arguments)


def chosen_models(patterns: Sequence[str]) -> list[ZooModel]:
    """The models of the patterns, whose library is here; a whole label means that model alone."""
    models = select([] if list(patterns) == ["all"] else patterns)
    labels = {model.label for model in models}
    whole, parts = [p for p in patterns if p in labels], [p for p in patterns if p not in labels]
    kept = [m for m in models if m.label in whole or not patterns or any(p in m.label for p in parts)]
    return [model for model in kept if is_installed(model.library)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the exit status is 1 where dlrmc has no result."""
    options = parsed(arguments)
    models = chosen_models(options.models)
    if options.list:
        print("\n".join(model.label for model in models))
        return 0
    started = time.monotonic()
    file = CsvFile(options.out, keep=options.resume)
    rows, done = list(file.rows), {(row.model, row.batch) for row in file.rows}
    tasks = [Task(model.label, batch) for batch in options.batch for model in models]
    run = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"

    def take(task: Task, new: list[Row]) -> None:
        rows.extend(new)
        for row in new:
            file.append(row)

    left = [task for task in tasks if task.key not in done]
    for first in range(0, len(left), options.jobs):
        if time.monotonic() - started > options.max_seconds:
            break
        wave = left[first : first + options.jobs]
        Wave(wave, ("dlrmc", *options.peers), run).measure(options.prepare_seconds, take)
        print(f"{time.monotonic() - started:.0f} s", flush=True)
    show(rows)
    return 0 if all(row.is_ok for row in rows if row.variant == "dlrmc") else 1


if __name__ == "__main__":
    sys.exit(main())
