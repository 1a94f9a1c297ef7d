"""PyTorch without a compiler."""

from __future__ import annotations

from dlrmc.bench.variants.runner import Runner, captured
from dlrmc.bench.work import Work


def eager(work: Work) -> Runner:
    """The model as it is."""
    return Runner(work.run_eager)


def eager_graph(work: Work) -> Runner:
    """The model captured as a CUDA graph over static inputs."""
    return Runner(captured(work.run_eager))
