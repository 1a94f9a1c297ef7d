"""Models of open libraries on a GPU at real sizes: dlrmc beside eager, CUDA graphs and inductor.

    python benchmarks/zoo.py --list                            # what can be made here
    python benchmarks/zoo.py --out zoo.csv --jobs 8            # the usual twenty at batch 512 and 4096
    python benchmarks/zoo.py --out zoo.csv --models DCN PLE --batch 512 --resume

Several processes compile at the same time and take turns on the GPU, as `dlrmc bench sweep --jobs` does
(docs/performance.md). Correctness is checked before a variant is timed; rows are as those of `dlrmc bench`,
with the batch size in `batch`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from dlrmc.bench.gpu_access import GpuAccess
from dlrmc.bench.pool import sweep_with_jobs
from dlrmc.bench.progress import Progress
from dlrmc.bench.records import NO_SIZES, CsvFile, Row
from dlrmc.bench.sweep import Bench
from dlrmc.bench.tasks import Task, pending
from dlrmc.bench.text_table import number, table_lines
from dlrmc.bench.variants import VARIANTS
from dlrmc.bench.work import CompileOptions, Request, Work
from dlrmc.bench.workload import Cell
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
    "paper/SelfAttention",
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
    "paper/SqueezedBilinear",
    "torch-rechub/HSTU",
)


@dataclass(frozen=True)
class ZooTask(Task):
    """One model of the zoo at one batch size; the cell stands for no sizes."""

    batch: int = 0

    @property
    def facts(self) -> dict[str, Any]:
        """Model and batch size."""
        return {"model": self.model, **NO_SIZES, "batch": self.batch}

    def make_work(self, device: torch.device, gpu: GpuAccess) -> Work:
        """The model at real sizes, with float64 results where its code lets it have them."""
        [entry] = [each for each in select([self.model]) if each.label == self.model]
        example = entry.example(self.batch, REAL)
        leaves = _tensors((example.args, dict(example.kwargs)))
        with gpu.released():
            exact = _tensors(in_float64(example))
        moved = on_device(example, device.type)
        request = Request("the inputs", leaves, exact)
        return Work(moved.model, moved.args, dict(moved.kwargs), [request], self.options, gpu=gpu)


def _tensors(tree: Any) -> tuple[torch.Tensor, ...]:
    return tuple(leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor))


def make_bench(gpu: GpuAccess) -> Bench:
    """The bench of a process."""
    return Bench.on_gpu(torch.device("cuda", torch.cuda.current_device()), gpu)


class Printed(Progress):
    """A line for each row."""

    def row(self, row: Row) -> None:
        """Print it."""
        time_us = "" if row.wall_us is None else f"{row.wall_us:9.1f} us"
        status = "" if row.is_ok else row.status
        print(f"{row.model:36} {row.batch:5} {row.variant:12}{time_us} {status}", flush=True)


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
    parser.add_argument(
        "--peers", nargs="*", default=PEERS, choices=[v.name for v in VARIANTS if v.is_general]
    )
    parser.add_argument("--out", type=Path, default=Path("zoo.csv"))
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile side by side")
    parser.add_argument("--resume", action="store_true", help="leave out what the file has")
    parser.add_argument("--tune", default="off", choices=["off", "fast", "full"])
    parser.add_argument(
        "--max-seconds", type=float, default=float("inf"), help="begin nothing that would end after these"
    )
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
    file = CsvFile(options.out, keep=options.resume)
    names = ("dlrmc", *options.peers)
    variants = [variant for variant in VARIANTS if variant.name in names]
    compile_options = CompileOptions(tune=options.tune)
    tasks = pending(
        [
            ZooTask(Cell(1, 1), compile_options, model.label, batch)
            for batch in options.batch
            for model in models
        ],
        variants,
        file.rows,
    )
    rows = sweep_with_jobs(
        make_bench,
        tasks,
        variants,
        file,
        jobs=options.jobs,
        max_seconds=options.max_seconds,
        progress=Printed(),
    )
    rows = [*file.rows, *rows]
    show(rows)
    return 0 if all(row.is_ok for row in rows if row.variant == "dlrmc") else 1


if __name__ == "__main__":
    sys.exit(main())
