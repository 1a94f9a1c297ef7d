"""Runs a graph with NumPy: the oracle, and the target of a machine with neither a GPU nor a C++ compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from dlrmc.ir.graph import Graph
from dlrmc.ir.reference import evaluate
from dlrmc.runtime.bound_call import RepeatedCall
from dlrmc.runtime.tensors import empty, to_numpy, to_torch
from dlrmc.runtime.weights import checked_weight


class ReferenceExecutor:
    """`dlrmc.ir.reference.evaluate` behind the interface of the compiled targets.

    An id out of range is raised in the call that has it, whatever `bounds` says: NumPy has no scores to go
    on with.

    Args:
        graph: any stage of the program.
        weights: the user's tensors by target; one on a GPU is copied at every call, so that a change is seen.
    """

    def __init__(self, graph: Graph, weights: Mapping[str, torch.Tensor]) -> None:
        self._graph = graph
        nodes = [node for node in graph.nodes if node.is_op("weight")]
        self._weights = {node.target: checked_weight(node, weights) for node in nodes}

    @property
    def devices(self) -> tuple[str, ...]:
        """The CPU alone."""
        return ("cpu",)

    @property
    def memory_bytes(self) -> int:
        """Nothing is held between calls."""
        return 0

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Fresh outputs for checked inputs; see `Executor.run`."""
        named = {node.name: to_numpy(t) for node, t in zip(self._graph.inputs, inputs, strict=True)}
        weights = {target: to_numpy(tensor) for target, tensor in self._weights.items()}
        results = evaluate(self._graph, named, weights)
        # An output may be an input, a constant or a view of another output; torch's caller owns what it gets.
        return [to_torch(result).clone() for result in results]

    def run_into(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
        """Compute into the caller's tensors."""
        for output, result in zip(outputs, self.run(inputs), strict=True):
            output.copy_(result)

    def bind(self, inputs: Sequence[torch.Tensor]) -> RepeatedCall:
        """A call that reads these very tensors; see `Executor.bind`."""
        return RepeatedCall(self.run_into, inputs, [empty(node.type) for node in self._graph.outputs])

    def check(self) -> None:
        """Nothing is left over from a call."""

    def fault_count(self) -> int:
        """Zero: every fault was raised in its call."""
        return 0
