"""Runs a graph with NumPy: the oracle, and the target of a machine with neither a GPU nor a C++ compiler."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence

import torch

from dlrmc.ir.graph import Graph
from dlrmc.ir.reference import evaluate
from dlrmc.runtime.binding import Binder
from dlrmc.runtime.bound_call import RepeatedCall
from dlrmc.runtime.quick_call import QuickCall, no_quick_call
from dlrmc.runtime.shared_weights import SharedWeights, checked_weight
from dlrmc.runtime.tensors import empty, to_numpy, to_torch


class ReferenceExecutor:
    """`dlrmc.ir.reference.evaluate` behind the interface of the compiled targets.

    An id out of range is raised in the call that has it, whatever `bounds` says: NumPy has no scores to go
    on with.

    Args:
        graph: any stage of the program.
        weights: the user's tensors by target; one on a GPU is copied at every call, so that a change is seen.
        shared: of other graphs of the same program, if any.
    """

    def __init__(
        self, graph: Graph, weights: Mapping[str, torch.Tensor], shared: SharedWeights | None = None
    ) -> None:
        self._graph = graph
        self._user_weights = weights
        self.calls = 0
        self._lock = threading.RLock()
        self.weights = shared or SharedWeights(torch.device("cpu"))
        self.weights.add_reader(self)
        nodes = [node for node in graph.nodes if node.is_op("weight")]
        self._weights = {node.target: checked_weight(node, weights) for node in nodes}

    @property
    def devices(self) -> tuple[str, ...]:
        """The CPU alone."""
        return ("cpu",)

    @property
    def calls_without_graph(self) -> int:
        """All of them."""
        return self.calls

    @property
    def memory_bytes(self) -> int:
        """Nothing is held between calls."""
        return 0

    def quick_call(self, binder: Binder) -> QuickCall:
        """Every call goes the long way."""
        return no_quick_call

    def replica(self) -> ReferenceExecutor:
        """Another instance over the same graph and weights."""
        return ReferenceExecutor(self._graph, self._user_weights, self.weights)

    def run(
        self,
        inputs: list[torch.Tensor],
        outputs: list[torch.Tensor] | None = None,
        *,
        is_ready: bool = False,
    ) -> list[torch.Tensor]:
        """The outputs for checked inputs; see `Executor.run`."""
        named = {node.name: to_numpy(t) for node, t in zip(self._graph.inputs, inputs, strict=True)}
        weights = {target: to_numpy(tensor) for target, tensor in self._weights.items()}
        with self._lock:
            results = [to_torch(result) for result in evaluate(self._graph, named, weights)]
            self.calls += 1
        if outputs is None:
            # A result may be an input, a constant or a view of another; torch's caller owns what it gets.
            return [result.clone() for result in results]
        for output, result in zip(outputs, results, strict=True):
            output.copy_(result)
        return outputs

    def bind(self, inputs: Sequence[torch.Tensor]) -> RepeatedCall:
        """A call that reads these very tensors; see `Executor.bind`."""
        return RepeatedCall(self.run, self.check, inputs, [empty(node.type) for node in self._graph.outputs])

    def check(self) -> None:
        """Nothing is left over from a call."""

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """No call runs meanwhile; see `Executor.paused`."""
        with self._lock:
            yield

    def raise_recorded(self) -> None:
        """Nothing is left over from a call."""

    def fault_count(self) -> int:
        """Zero: every fault was raised in its call."""
        return 0
