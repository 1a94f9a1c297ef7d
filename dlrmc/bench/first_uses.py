"""What a process pays once, paid before its first cell, while other processes do the same."""

from __future__ import annotations

import contextlib

import torch

from dlrmc.bench.work import CompileOptions, cell_work
from dlrmc.bench.workload import Cell


def make_first_uses(device: torch.device) -> None:
    """Imports, the libraries' handles and first kernels, on the smallest plain DLRM; takes some seconds.

    What fails here fails in a cell again, and is a row there.
    """
    with contextlib.suppress(Exception), torch.no_grad():
        work = cell_work(Cell(1, 1, rows=1), device, CompileOptions())
        work.eager_values  # noqa: B018 (computed for its side effects)
        compiled, _ = work.compiled
        compiled.bind(*work.args)()
