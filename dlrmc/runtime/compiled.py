"""What `dlrmc.compile` returns: the program, ready to be called like the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from dlrmc.errors import InputError
from dlrmc.ir.graph import Graph
from dlrmc.runtime.binding import Binder
from dlrmc.runtime.build import Build
from dlrmc.runtime.executor import BoundCall, Executor
from dlrmc.runtime.findings import check_strict
from dlrmc.runtime.load import fault_log, make_executor
from dlrmc.runtime.module_cache import shared_cache
from dlrmc.runtime.out_argument import OutArgument
from dlrmc.runtime.report import write_report
from dlrmc.runtime.shared_weights import SharedWeights
from dlrmc.runtime.targets import Target


class Compiled:
    """A compiled program. Call it like the model; results have the model's own structure.

    Calls may come from several threads and run one at a time; `replica` gives an instance that runs beside
    this one. Inputs may differ in address and content from call to call, be non-contiguous, and with the
    target `cuda` be on the CPU (they are copied). Outputs are fresh tensors on the model's device, without
    gradients.
    """

    def __init__(
        self, build: Build, executor: Executor | None = None, *, weights: SharedWeights | None = None
    ) -> None:
        self._build = build
        check_strict(build.program, build.target.device, build.options)
        self._cache = shared_cache(build.options.cache_dir)
        self._executor = executor or make_executor(build, self._cache, fault_log(build), weights)
        self._weights = self._executor.weights
        self._weights.adopt(build.program)
        self._refresh = self._weights.refresh
        self._binder = Binder(build.program, self._executor.devices, build.plan.counted)
        self._recognise = self._binder.recognise
        self._plain_results: Any = self._binder.plain_results
        self._quick = self._executor.quick_call(self._binder)
        self._run = self._executor.run
        self._out = OutArgument(build.program, self._executor.devices[0])
        self._may_take_out = "out" not in self._binder.names

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The model's results for these arguments.

        Args:
            *args: the model's.
            **kwargs: the model's; and `out`, unless the model itself has an argument of this name: tensors in
                the structure of the results, which are written to and returned instead of fresh ones.

        Raises:
            InputError: an argument is not what was exported; nothing has run.
            BoundsError: an id or offset is out of range: of this call under `bounds="raise"`, of an earlier
                one under `"deferred"`; then this call has not run, and the next one will.
        """
        if not kwargs and (results := self._quick(args)) is not None:
            return results
        out = kwargs.pop("out", None) if kwargs and self._may_take_out else None
        self._refresh()
        known = self._recognise(args, kwargs)
        if known is not None:
            outputs = None if out is None else self._out.tensors(out, known, is_ready=True)
            return self._plain_results(self._run(known, outputs, is_ready=True))
        leaves, tensors, is_ready = self._binder.flatten(args, kwargs)
        outputs = None if out is None else self._out.tensors(out, tensors, is_ready=is_ready)
        return self._binder.unflatten(leaves, self._run(tensors, outputs, is_ready=is_ready))

    def call_positional(self, args: tuple[Any, ...]) -> Any:
        """The results for positional arguments alone, as of a call."""
        results = self._quick(args)
        return self(*args) if results is None else results

    def takes_any_counts(self, counts: int) -> bool:
        """Whether so many dynamic sizes, and no others, are numbers of ids that may differ in each call."""
        return counts == 0

    def call_known(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The results of a call that looks like an earlier good one; None of any other, which has not run.

        Raises:
            InputError, BoundsError: as a call.
        """
        if not kwargs and (results := self._quick(tuple(args))) is not None:
            return results
        known = self._recognise(args, kwargs)
        if known is None:
            return None
        self._refresh()
        return self._plain_results(self._run(known, None, is_ready=True))

    def bind(self, *args: Any, **kwargs: Any) -> Step:
        """A step with fixed addresses: it reads these very tensors and overwrites its own outputs.

        Raises:
            InputError: as for a call; also where a tensor is not contiguous or not on the model's device.
        """
        arguments = self._binder.flatten(args, kwargs)
        self._refresh()
        with torch.no_grad():
            call = self._executor.bind(arguments.tensors)
        return Step(call, self._weights, self._binder.unflatten(arguments.leaves, call.outputs))

    def replica(self) -> Compiled:
        """Another instance over the same kernels, weights and tables.

        It has buffers, counters and fault records of its own, and its calls run beside those of this one. So
        N threads that shall not wait for each other take N replicas.
        """
        return Compiled(self._build, self._executor.replica())

    def check(self) -> None:
        """Wait for all calls and raise the first id or offset out of range that they recorded.

        Raises:
            BoundsError: naming the input, the position, the value, the limit and the call.
        """
        self._executor.check()

    def raise_recorded(self) -> None:
        """Raise the first id or offset out of range that is known of by now; does not wait.

        Raises:
            BoundsError: as `check`.
        """
        self._executor.raise_recorded()

    def __reduce__(self) -> Any:
        """Refuse to be pickled or copied: kernels, graphs and device memory are of this process."""
        raise InputError(
            "a compiled program",
            found="pickled or copied",
            expected="the exported program, which torch.export.save writes",
            hint="compile that again (kernels are cached); replica() gives an instance beside this one",
        )

    def update_weights(self, state: Mapping[str, torch.Tensor]) -> None:
        """Give weights new values: any part of the model's `state_dict`.

        The values are written into the model's own tensors, which this program shares, and the copies made of
        them (moved, packed, folded) are made anew. Calls of this program, its replicas and steps see all new
        values or none; calls that run are waited for.

        Args:
            state: tensors by the names of the exported model, on any device.

        Raises:
            InputError: a name is unknown, a shape or dtype is another, two names of one tied weight disagree,
                or a buffer is to change that was read into the program as constants. Nothing was written.
        """
        self._weights.update(state)

    def stats(self) -> dict[str, Any]:
        """Counters: calls, faults, compiler calls and cache hits of this process, bytes held.

        `without_graph` calls were not one launch of a CUDA graph: all on other targets than `cuda`, and those
        recorded into the caller's own graph.
        """
        return {
            "calls": self._executor.calls,
            "faults": self._executor.fault_count(),
            "without_graph": self._executor.calls_without_graph,
            **dataclasses.asdict(self._cache.counters),
            "memory_bytes": self._executor.memory_bytes,
            "arena_bytes": self._build.plan.arena_bytes,
        }

    def report(self, *, ir: bool = False) -> str:
        """What was compiled and how: target, precision, kernels and their needs, counts, fixed dimensions.

        Args:
            ir: whether to print the IR before and after the passes, too.
        """
        return write_report(self._build, self._cache, self.stats, ir=ir)

    @property
    def calls(self) -> int:
        """How many calls were issued."""
        return self._executor.calls

    @property
    def graph(self) -> Graph:
        """The IR after all passes."""
        return self._build.graph

    @property
    def target(self) -> Target:
        """Where it runs."""
        return self._build.target

    @property
    def cuda_source(self) -> str:
        """The emitted CUDA."""
        return self._build.module.text

    def __repr__(self) -> str:
        kernels = len(self._build.plan.launches)
        return f"<compiled {self._build.graph.name}: {kernels} kernels, target {self._build.target.name}>"


class Step:
    """A bound call. Each run overwrites `outputs`, so copy what must outlive the next run.

    Args:
        call: of an executor.
        weights: that it reads.
        outputs: its tensors in the model's own structure.
    """

    def __init__(self, call: BoundCall, weights: SharedWeights, outputs: Any) -> None:
        self._quick = call.quick
        self._run = call.run
        self._check = call.check
        self._refresh = weights.refresh
        self.outputs = outputs

    def __call__(self) -> Any:
        """Compute from what the bound tensors hold now; the result is `outputs`.

        Raises:
            BoundsError: as for a call.
        """
        if not self._quick():
            self._refresh()
            self._run()
        return self.outputs

    def check(self) -> None:
        """Wait, and raise the first id or offset out of range that the runs recorded.

        Raises:
            BoundsError: naming the input, the position, the value, the limit and the run.
        """
        self._check()
