"""One thing to be measured: a module on its device, live inputs, requests to load into them, and truths."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from dlrmc.bench.gpu_access import ALONE, GpuAccess
from dlrmc.bench.oracle import exact_scores
from dlrmc.bench.workload import Cell, build_model, random_inputs, seed_inputs

ORACLE_SAMPLES = 2048


@dataclass(frozen=True)
class Request:
    """Values of the live inputs, and what the scores must be.

    Args:
        name: for error messages.
        leaves: the values in the order of the call's flattened tensors, on the CPU.
        exact: float64 results of the first samples for each result; empty where they are not known.
    """

    name: str
    leaves: tuple[torch.Tensor, ...]
    exact: tuple[torch.Tensor, ...] = ()


@dataclass(frozen=True)
class CompileOptions:
    """How programs are compiled for a measurement.

    Args:
        precision: fp32 or tf32, for dlrmc and for the peers.
        tune: dlrmc's own search.
        cold: whether every peer that compiles starts with an empty cache of its own.
    """

    precision: str = "fp32"
    tune: str = "off"
    cold: bool = False


class Work:
    """A module and its live inputs, which stay at one address while requests are copied into them.

    Args:
        module: in evaluation mode, on `device`.
        args: positional arguments of the call; their tensors are on `device`.
        kwargs: keyword arguments.
        requests: the first is the one that is timed.
        options: how to compile.
        program: the exported program where there is one already.
        gpu: the turns of this process on the GPU; compilers give theirs to others.
    """

    def __init__(
        self,
        module: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        requests: Sequence[Request],
        options: CompileOptions,
        program: ExportedProgram | None = None,
        gpu: GpuAccess = ALONE,
    ) -> None:
        self.module = module
        self.args, self.kwargs = args, kwargs
        self.requests = tuple(requests)
        self.options = options
        self.gpu = gpu
        self._program = program

    @property
    def device(self) -> torch.device:
        """Where the work is done."""
        return self.live[0].device

    @cached_property
    def live(self) -> tuple[torch.Tensor, ...]:
        """The tensors of the call in flattened order."""
        leaves = pytree.tree_leaves((self.args, self.kwargs))
        return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

    def load(self, request: Request) -> None:
        """Copy a request's values into the live inputs."""
        for tensor, value in zip(self.live, request.leaves, strict=True):
            tensor.copy_(value)

    def fresh_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call with copies of all its tensors."""
        return pytree.tree_map_only(torch.Tensor, torch.clone, (self.args, self.kwargs))

    def run_eager(self) -> Any:
        """The module called on the live inputs."""
        return self.module(*self.args, **self.kwargs)

    @cached_property
    def eager_values(self) -> tuple[tuple[torch.Tensor, ...], ...]:
        """Eager's results of every request, on the CPU; leaves the last request loaded."""
        values = []
        for request in self.requests:
            self.load(request)
            values.append(read_tensors(self.run_eager()))
        return tuple(values)

    @cached_property
    def exported(self) -> tuple[ExportedProgram, float]:
        """The exported program, and the seconds that the export took."""
        if self._program is not None:
            return self._program, 0.0
        start = time.perf_counter()
        with self.gpu.released():
            program = torch.export.export(self.module, self.args, self.kwargs)
        return program, time.perf_counter() - start

    @cached_property
    def compiled(self) -> tuple[Any, float]:
        """The program compiled by dlrmc, and the seconds that it took without the export."""
        import dlrmc
        from dlrmc.runtime.tuning_turn import tuning_within

        program, _ = self.exported
        target = "cuda" if self.device.type == "cuda" else "reference"
        start = time.perf_counter()
        options = {"precision": self.options.precision, "tune": self.options.tune}
        with self.gpu.released(), tuning_within(self.gpu.held):
            compiled = dlrmc.compile(program, target=target, **options)
        return compiled, time.perf_counter() - start


def cell_work(cell: Cell, device: torch.device, options: CompileOptions, gpu: GpuAccess = ALONE) -> Work:
    """The plain DLRM of a cell with the seed's inputs and random ones."""
    model = build_model(cell, device)
    requests = []
    for name, inputs in (("seed inputs", seed_inputs(cell)), ("random inputs", random_inputs(cell))):
        exact = exact_scores(model, inputs, ORACLE_SAMPLES, gpu.released)
        requests.append(Request(name, tuple(pytree.tree_leaves(inputs)), (exact,)))
    args = pytree.tree_map(lambda tensor: tensor.to(device, copy=True), seed_inputs(cell))
    return Work(model, args, {}, requests, options, gpu=gpu)


def program_work(
    program: ExportedProgram,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: torch.device,
    options: CompileOptions,
) -> Work:
    """A program of a user's own with one request, which has no float64 truth."""
    moved = program if device.type == "cpu" else _moved(program, device)
    leaves = tuple(leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor))
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: t.to(device, copy=True), (args, kwargs))
    return Work(moved.module(), args, kwargs, [Request("the inputs", leaves)], options, moved)


def _moved(program: ExportedProgram, device: torch.device) -> ExportedProgram:
    from torch.export.passes import move_to_device_pass

    return move_to_device_pass(program, device)


def read_tensors(result: Any) -> tuple[torch.Tensor, ...]:
    """Copies on the CPU of all tensors of a result."""
    leaves = pytree.tree_leaves(result)
    return tuple(leaf.detach().cpu().clone() for leaf in leaves if isinstance(leaf, torch.Tensor))
