"""A compiled program with dynamic dimensions: built for each set of sizes when first seen."""

from __future__ import annotations

import dataclasses
import textwrap
import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

import torch
from torch.utils import _pytree as pytree

from dlrmc.errors import InputError, SpecialisationWarning
from dlrmc.ir.graph import Graph
from dlrmc.runtime.binding import Binder
from dlrmc.runtime.compiled import Compiled, Step
from dlrmc.runtime.module_cache import shared_cache
from dlrmc.runtime.padding import Padding, copy_out, cut
from dlrmc.runtime.specialise import Key, Specialiser
from dlrmc.runtime.targets import Target

# Sets of sizes that are kept; the one used least recently goes.
MAX_SPECIALISATIONS: Final = 128


class DynamicCompiled(Compiled):
    """A `Compiled` whose inputs may have any sizes of the ranges that the export declared.

    The first call with a set of sizes builds the program for it; calls of these sizes are then as quick as
    those of a program exported for them. Kernels are found in the module cache, weights and tables are
    shared. Fault records are of each set of sizes: a call raises what the calls before it recorded.

    Args:
        specialiser: the program.
        most: how many sets of sizes to keep.
    """

    def __init__(self, specialiser: Specialiser, most: int = MAX_SPECIALISATIONS) -> None:
        self._specialiser = specialiser
        self._most = most
        self._lock = threading.RLock()
        self._held: OrderedDict[Key, Compiled] = OrderedDict()
        self._builds: dict[Key, int] = {}
        self._built = 0
        self._evicted = 0
        self._evicted_counts = {"calls": 0, "faults": 0, "without_graph": 0}
        self._last: Compiled | None = None
        self._cache = shared_cache(specialiser.options.cache_dir)
        self._binder = Binder(specialiser.example, ("cpu",))
        self._padding = specialiser.padding()
        self._padded = 0
        self._missed = 0
        for batch in specialiser.options.batch_sizes:
            shapes = specialiser.batch_shapes(batch)
            self._specialisation([_Shaped(shape) for shape in shapes])
        self._missed = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The model's results; see `Compiled.__call__`. New sizes are built first."""
        last = self._last
        if last is not None and (results := last.call_known(args, kwargs)) is not None:
            return results
        if self._padding is not None and (batches := self._padded_batches(args, kwargs)) is not None:
            return self._call_padded(self._padding, batches, args, kwargs)
        return self._call_exact(args, kwargs)

    def call_positional(self, args: tuple[Any, ...]) -> Any:
        """The results for positional arguments alone, as of a call."""
        return self(*args)

    def takes_any_counts(self, counts: int) -> bool:
        """See `Compiled.takes_any_counts`."""
        return self._specialiser.counts_alone(counts)

    def bind(self, *args: Any, **kwargs: Any) -> Step:
        """A step with fixed addresses and sizes; see `Compiled.bind`."""
        return self._of_call(args, kwargs).bind(*args, **kwargs)

    def replica(self) -> DynamicCompiled:
        """Another instance over the same kernels and weights; see `Compiled.replica`."""
        return DynamicCompiled(self._specialiser, self._most)

    def check(self) -> None:
        """Wait for the calls of all sizes; see `Compiled.check`."""
        for compiled in self._all():
            compiled.check()

    def raise_recorded(self) -> None:
        """Raise what calls of any size have recorded up to now; does not wait."""
        for compiled in self._all():
            compiled.raise_recorded()

    def update_weights(self, state: Mapping[str, torch.Tensor]) -> None:
        """Give weights new values, in the programs of all sizes at once; see `Compiled.update_weights`."""
        self._specialiser.weights.update(state)

    def stats(self) -> dict[str, Any]:
        """Counters, as `Compiled.stats`, over all sizes.

        `specialisations` is how many sets of sizes are held, `built` how many this instance had built,
        `evicted` how many it gave up; `sizes` tells of each that is held how often it was built and called.
        `padded` calls were padded to another batch, `missed` calls had sizes that were not built yet.
        """
        with self._lock:
            each = [compiled.stats() for compiled in self._held.values()]
            sizes = {
                self._specialiser.describe(key): {"built": self._builds[key], "calls": compiled.calls}
                for key, compiled in self._held.items()
            }
        names = ("calls", "faults", "without_graph", "memory_bytes", "arena_bytes")
        sums = {n: sum(one[n] for one in each) + self._evicted_counts.get(n, 0) for n in names}
        counters = dataclasses.asdict(self._cache.counters)
        own = {"specialisations": len(each), "built": self._built, "evicted": self._evicted}
        used = {"padded": self._padded, "missed": self._missed, "sizes": sizes}
        return {**sums, **counters, **own, **used}

    def report(self, *, ir: bool = False) -> str:
        """The sizes that were built and how often they were called, and the report of the last one."""
        example = self._specialiser.example
        dims = [str(dim) for dim in (*example.dynamic_dims, *example.frozen_dims)]
        lines = ["sizes", *textwrap.indent("\n".join(dims), "  ").splitlines()]
        with self._lock:
            held = [(self._specialiser.describe(key), each.calls) for key, each in self._held.items()]
        lines += [f"  {sizes}: called {calls} times" for sizes, calls in held]
        last = self._latest()
        shown = "" if last is None else "\n" + last.report(ir=ir)
        return "\n".join(lines) + "\n" + shown

    @property
    def calls(self) -> int:
        """How many calls were issued, of all sizes."""
        return self._evicted_counts["calls"] + sum(compiled.calls for compiled in self._all())

    @property
    def graph(self) -> Graph:
        """The IR of the sizes used last, after all passes.

        Raises:
            InputError: nothing was called yet.
        """
        return self._some().graph

    @property
    def target(self) -> Target:
        """Where it runs; raises as `graph`."""
        return self._some().target

    @property
    def cuda_source(self) -> str:
        """The emitted CUDA of the sizes used last; raises as `graph`."""
        return self._some().cuda_source

    def __repr__(self) -> str:
        return f"<compiled {self._specialiser.example.graph.name}: {len(self._held)} sets of sizes>"

    # -- calls -----------------------------------------------------------------------------------------------

    def _call_exact(self, args: Any, kwargs: Any) -> Any:
        last, compiled = self._last, self._of_call(args, kwargs)
        if last is not compiled:
            if last is not None:
                last.raise_recorded()
            self._last = compiled
        return compiled(*args, **kwargs)

    def _padded_batches(self, args: Any, kwargs: Any) -> tuple[int, int] | None:
        """The batch of a call and the one to pad it to; None where its sizes are built, or too large."""
        tensors = self._binder.tensors(args, self._without_out(kwargs))
        key = self._specialiser.key(tensors)
        if key is None or key in self._held or self._padding is None:
            return None
        return self._padding.bucket(tensors)

    def _call_padded(self, padding: Padding, batches: tuple[int, int], args: Any, kwargs: Any) -> Any:
        own, padded = batches
        inner = self._without_out(kwargs)
        tensors = padding.pad(self._binder.tensors(args, inner), padded)
        results = self._call_exact(*self._binder.with_tensors(args, inner, tensors))
        with self._lock:
            self._padded += 1
        results = pytree.tree_map_only(torch.Tensor, lambda each: cut(each, own, padded), results)
        return results if inner is kwargs else copy_out(results, kwargs["out"])

    def _without_out(self, kwargs: Any) -> Any:
        if "out" not in kwargs or "out" in self._binder.names:
            return kwargs
        return {name: value for name, value in kwargs.items() if name != "out"}

    # -- specialisations -------------------------------------------------------------------------------------

    def _of_call(self, args: Any, kwargs: Any) -> Compiled:
        kwargs = self._without_out(kwargs)
        tensors = self._binder.tensors(args, kwargs)
        found = self._specialisation(tensors)
        if found is None:  # no tensor, or another rank: the check of the example says which
            self._binder.flatten(args, kwargs)
            raise InputError("arguments", found="tensors without a shape", expected="those of the export")
        return found

    def _specialisation(self, tensors: list[Any]) -> Compiled | None:
        key = self._specialiser.key(tensors)
        if key is None:
            return None
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
            self._missed += 1
        # Outside of the lock: calls of other sizes go on meanwhile.
        key, compiled, is_new = self._specialiser.instance(tensors)
        with self._lock:
            self._built += is_new
            compiled = self._held.setdefault(key, compiled)
            self._builds[key] = self._builds.get(key, 0) + is_new
            while len(self._held) > self._most:
                self._evict()
        return compiled

    def _evict(self) -> None:
        """Give up the sizes that were used least recently. What their calls recorded is raised first."""
        key = next(iter(self._held))
        self._held[key].check()
        if self._held[key] is self._last:
            self._last = None
        gone = self._held.pop(key).stats()
        del self._builds[key]
        for name in self._evicted_counts:
            self._evicted_counts[name] += gone[name]
        self._evicted += 1
        if self._evicted == 1:
            message = (
                f"more than {self._most} sets of sizes are in use; {self._specialiser.describe(key)} is "
                "given up, and built again if it returns. Pad requests to fewer sizes: see stats()['sizes']"
            )
            warnings.warn(SpecialisationWarning(message), stacklevel=6)

    def _all(self) -> list[Compiled]:
        with self._lock:
            return list(self._held.values())

    def _latest(self) -> Compiled | None:
        held = self._all()
        return held[-1] if held else None

    def _some(self) -> Compiled:
        latest = self._latest()
        if latest is None:
            raise InputError(
                "compiled program",
                found="no sizes yet",
                expected="a call, or batch_sizes= of compile",
                hint="call it once: the kernels depend on the sizes",
            )
        return latest


class _Shaped:
    """Stands for a tensor of a shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
