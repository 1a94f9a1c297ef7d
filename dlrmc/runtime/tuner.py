"""Searches rows and threads of row programs by measuring them on the GPU: `tune="fast"` and `tune="full"`.

Each kernel is measured alone, on inputs that the tuner draws itself. A candidate that is refused by the
compiler, fails, or gives other numbers than the kernel as it was is dropped. Choices are kept on disk.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch

from dlrmc import __version__
from dlrmc.codegen.emit import emit_kernel, emit_module
from dlrmc.codegen.source import ModuleSource
from dlrmc.errors import CodegenError, DlrmcError, OptionError
from dlrmc.ir.graph import Graph
from dlrmc.options import Options
from dlrmc.runtime.targets import Target
from dlrmc.runtime.tuning_cache import Tuned, TuningCache, tuning_key
from dlrmc.runtime.tuning_choice import UNTUNED, Choice, candidates, with_choice
from dlrmc.runtime.tuning_problem import TuningProblem, make_problem
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.limits import DeviceLimits
from dlrmc.schedule.plan import Launch, Plan

Array = np.ndarray[Any, Any]
_Emitted = tuple[Plan, ModuleSource]
_LOGGER = logging.getLogger("dlrmc.tuning")
# Below this share of the untuned time, a gain is not told from noise, and the kernel stays as it is.
_LEAST_GAIN = 0.02
# Of the largest value of a result, by precision: candidates add in another order, no more.
_TOLERANCES = (("fp32", 1e-4), ("tf32", 2e-2), ("bf16", 5e-2))


@dataclass(frozen=True)
class Measurement:
    """One kernel run on the problem's inputs.

    Args:
        outputs: its results.
        faults: checks of ids and offsets that failed.
        time_us: of one launch among many.
    """

    outputs: tuple[Array, ...]
    faults: int
    time_us: float


class Measurer(Protocol):
    """Runs kernels on the machine that is tuned for."""

    @property
    def machine(self) -> Sequence[str]:
        """GPU, driver and compiler: what a choice depends on beside the kernel's text."""
        ...

    def measure(self, problem: TuningProblem, plan: Plan, module: ModuleSource) -> Measurement:
        """Compile, run and time the one kernel of a module.

        Raises:
            DlrmcError or RuntimeError: it cannot be compiled or launched.
        """
        ...


@dataclass(frozen=True)
class TuningStep:
    """How far the search is; log records of `dlrmc.tuning` have it as `tuning_step`.

    Args:
        kernel: number of the kernel, from 1.
        kernels: of the program.
        done: candidates of this kernel that are measured, the static choice among them.
        count: all of them.
        best_us: the best time so far.
        left_s: about how long the rest takes, for all kernels.
    """

    kernel: int
    kernels: int
    done: int
    count: int
    best_us: float
    left_s: float


@dataclass(frozen=True)
class _Progress:
    """Reports the steps of one kernel; `started_s` is the start of the whole search."""

    kernel: int
    kernels: int
    started_s: float

    def report(self, done: int, count: int, best_us: float) -> None:
        """Log a step. The kernels to come are taken to have as many candidates as this one."""
        past, whole = (self.kernel - 1) * count + done, self.kernels * count
        left_s = (time.perf_counter() - self.started_s) / past * (whole - past)
        step = TuningStep(self.kernel, self.kernels, done, count, best_us, left_s)
        _LOGGER.debug(
            "kernel %d of %d: %d of %d measured, best %.2f us, about %.0f s left",
            *astuple(step),
            extra={"tuning_step": step},
        )


@dataclass(frozen=True)
class Tuner:
    """The search.

    Args:
        measurer: runs kernels.
        cache: of choices.
        limits: of the GPU.
        precision: of products on tensor cores.
        effort: `fast` or `full`.
    """

    measurer: Measurer
    cache: TuningCache
    limits: DeviceLimits
    precision: str
    effort: str

    def tune(self, graph: Graph) -> None:
        """Write the best choice into each row program of a graph after all passes."""
        launches = [each for each in build_plan(graph).launches if _is_tunable(each)]
        started_s = time.perf_counter()
        for number, launch in enumerate(launches, 1):
            tuned = self._find(launch, _Progress(number, len(launches), started_s))
            if tuned is not None and tuned.choice != UNTUNED and self._fits_plan(graph, launch, tuned.choice):
                with_choice(graph, launch.kernel, tuned.choice)

    def _fits_plan(self, graph: Graph, launch: Launch, choice: Choice) -> bool:
        """Whether the kernel can be emitted so in its place, where operands may be reached another way."""
        copy, name = graph.copy(), launch.kernel.name
        placed = replace(launch, kernel=with_choice(copy, copy.find(name), choice))
        try:
            emit_kernel(placed, "tuned", 0, self.limits, self.precision)
        except CodegenError as error:
            _LOGGER.warning("kernel %%%s: %s is dropped: %s", name, choice, error)
            return False
        return True

    def _find(self, launch: Launch, progress: _Progress) -> Tuned | None:
        """The choice from the cache or from measurement; None where the kernel cannot be measured."""
        problem, name = make_problem(launch), launch.kernel.name
        plan, module = self._emit(problem, UNTUNED)
        key = tuning_key(
            (__version__, *self.measurer.machine, str(self.limits), self.precision, self.effort, module.text)
        )
        if (known := self.cache.get(key)) is not None:
            _LOGGER.info("kernel %%%s: %s, from the cache", name, known.choice)
            return known
        try:
            untuned = self.measurer.measure(problem, plan, module)
        except (DlrmcError, RuntimeError) as error:
            _LOGGER.warning("kernel %%%s is not tuned: it cannot be measured: %s", name, error)
            return None
        if untuned.faults:
            _LOGGER.warning("kernel %%%s is not tuned: no valid ids were found for it", name)
            return None
        tuned = self._search(problem, name, untuned, progress)
        self.cache.put(key, tuned)
        _LOGGER.info(
            "kernel %%%s: %s, %.2f us, was %.2f", name, tuned.choice, tuned.time_us, tuned.untuned_us
        )
        return tuned

    def _search(
        self,
        problem: TuningProblem,
        name: str,
        untuned: Measurement,
        progress: _Progress,
    ) -> Tuned:
        emitted: dict[Choice, _Emitted] = {}

        def fits(choice: Choice) -> bool:
            try:
                emitted[choice] = self._emit(problem, choice)
            except CodegenError:
                return False
            return True

        chosen = candidates(problem.kernel, self.limits, self.effort, fits)
        count = len(chosen) + 1
        best = Tuned(UNTUNED, untuned.time_us, untuned.time_us)
        progress.report(1, count, best.time_us)
        for done, choice in enumerate(chosen, 2):
            time_us = self._measure(problem, f"kernel %{name}: {choice}", emitted[choice], untuned)
            limit_us = min(best.time_us, untuned.time_us * (1 - _LEAST_GAIN))
            if time_us is not None and time_us < limit_us:
                best = Tuned(choice, time_us, untuned.time_us)
            progress.report(done, count, best.time_us)
        return best

    def _measure(
        self, problem: TuningProblem, candidate: str, emitted: _Emitted, untuned: Measurement
    ) -> float | None:
        """The time of a candidate, or None where it is dropped."""
        try:
            found = self.measurer.measure(problem, *emitted)
        except (DlrmcError, RuntimeError) as error:
            _LOGGER.info("%s is dropped: %s", candidate, error)
            return None
        if found.faults or not same_numbers(found.outputs, untuned.outputs, self.precision):
            _LOGGER.warning("%s is dropped: it gives other numbers", candidate)
            return None
        _LOGGER.debug("%s takes %.2f us", candidate, found.time_us)
        return found.time_us

    def _emit(self, problem: TuningProblem, choice: Choice) -> _Emitted:
        graph = problem.graph
        if choice != UNTUNED:
            graph = graph.copy()
            with_choice(graph, graph.find(problem.kernel.name), choice)
        plan = build_plan(graph)
        return plan, emit_module(plan, self.limits, None, self.precision)


def same_numbers(found: Sequence[Array], wanted: Sequence[Array], precision: str) -> bool:
    """Whether results agree: integers exactly, reals to a small part of the largest, NaN where NaN was."""
    tolerance = dict(_TOLERANCES)[precision]
    return all(_agree(one, other, tolerance) for one, other in zip(found, wanted, strict=True))


def _agree(found: Array, wanted: Array, tolerance: float) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if wanted.dtype.kind in "biu":
        return bool(np.array_equal(found, wanted))
    exact = wanted.astype(np.float64)
    largest = float(np.max(np.abs(exact), initial=0.0, where=np.isfinite(exact)))
    return bool(np.allclose(found.astype(np.float64), exact, 0.0, tolerance * largest, equal_nan=True))


def _is_tunable(launch: Launch) -> bool:
    return launch.kernel.attributes.str("impl") == "row_program"


def tune_program(graph: Graph, weights: Mapping[str, torch.Tensor], target: Target, options: Options) -> None:
    """Tune a graph after all passes as `options.tune` says; with `off` nothing is measured or changed.

    Args:
        graph: its row programs get the rows and threads that were fastest.
        weights: of the program; they are read only.
        target: where the program will run.
        options: `tune`, `precision`, `cache_dir` and `strict` of them.

    Raises:
        OptionError: with `strict`, where the target is no GPU: there is nothing to measure.
    """
    if options.tune == "off":
        return
    if target.name != "cuda":
        if options.strict:
            raise OptionError(
                f"option tune={options.tune!r}",
                found=f"target {target.name}",
                expected="target cuda: kernels are measured on a GPU",
                hint="leave the option out",
            )
        _LOGGER.info("tune=%s: target %s has nothing to measure", options.tune, target.name)
        return
    from dlrmc.runtime.tuning_measurer import CudaMeasurer

    measurer = CudaMeasurer(target, weights, options.cache_dir)
    cache = TuningCache(options.cache_dir / "tuning")
    Tuner(measurer, cache, target.limits, options.precision, options.tune).tune(graph)
