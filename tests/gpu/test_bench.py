"""The bench and the profile on a GPU, on the smallest cell and with peers that compile fast."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dlrmc.bench.records import CsvFile
from dlrmc.bench.sweep import Bench, sweep
from dlrmc.bench.tasks import Task
from dlrmc.bench.timing import CudaTimer, measure
from dlrmc.bench.variants import chosen_variants
from dlrmc.bench.work import CompileOptions, cell_work
from dlrmc.bench.workload import Cell
from dlrmc.runtime.kernel_timing import repeated_kernels

pytestmark = pytest.mark.gpu
CELL = Cell(2, 4, rows=50)


def test_a_tiny_sweep(tmp_path: Path) -> None:
    bench = Bench.on_gpu(torch.device("cuda", torch.cuda.current_device()))
    variants = chosen_variants("eager,eager_graph")
    rows = sweep(bench, [Task(CELL, CompileOptions())], variants, CsvFile(tmp_path / "x.csv", keep=False))
    assert [(row.variant, row.status) for row in rows] == [(variant.name, "ok") for variant in variants]
    for row in rows:
        assert row.gpu == torch.cuda.get_device_name()
        assert row.wall_us is not None
        assert row.event_us is not None
        assert 0.5 < row.wall_us < 1e5
        assert 0.5 < row.event_us < 1e5


def test_the_clocks_see_the_work_of_the_gpu() -> None:
    device = torch.device("cuda", torch.cuda.current_device())
    cycles = 1_000_000  # about half a millisecond
    times = measure(lambda: torch.cuda._sleep(cycles), CudaTimer(device))
    assert times.event_us is not None
    assert 100 < times.event_us < 5000
    assert times.wall_us == pytest.approx(times.event_us, rel=0.2)


def test_each_kernel_runs_alone_and_leaves_the_scores_as_they_are() -> None:
    device = torch.device("cuda", torch.cuda.current_device())
    with torch.no_grad():
        work = cell_work(CELL, device, CompileOptions())
        compiled, _ = work.compiled
        kernels = repeated_kernels(compiled, work.args, work.kwargs, 3)
        for kernel in kernels:
            kernel.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(kernels[0].outputs[0], work.run_eager(), rtol=0, atol=1e-5)
    assert len(kernels) == len(dict.fromkeys(kernel.name for kernel in kernels))
