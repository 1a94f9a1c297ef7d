"""What a variant prepares: a call to be timed, and how to feed and read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from dlrmc.bench.work import read_tensors


def _do_nothing() -> None:
    """For runners that read the live inputs themselves."""


@dataclass(frozen=True)
class Runner:
    """A prepared variant.

    Args:
        call: issues the work of one request and gives its result.
        refresh: takes over what the live inputs hold now.
        arm: gets ready to be timed, after the last `refresh`.
        read: the tensors of a result, on the CPU.
        synchronize: waits for the work, where the device's own clock cannot; then no events are used.
        compile_s: seconds of compiling, autotuning included, without the export; None where they say nothing.
        export_s: seconds of `torch.export`, where the variant needs it.
        note: what a reader of the row must know.
    """

    call: Callable[[], Any]
    refresh: Callable[[], None] = _do_nothing
    arm: Callable[[], None] = _do_nothing
    read: Callable[[Any], tuple[torch.Tensor, ...]] = read_tensors
    synchronize: Callable[[], None] | None = None
    compile_s: float | None = 0.0
    export_s: float | None = 0.0
    note: str = ""


def captured(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call as one CUDA graph over its present tensors; its result is overwritten by each replay.

    Source: PyTorch, "CUDA Graphs": a call is warmed up on a side stream before it is captured.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    # Only this thread is watched: those of other frameworks may call CUDA meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = call()
    return _Replay(graph, result, call)


@dataclass(frozen=True)
class _Replay:
    """A captured call. It keeps the call itself: a graph keeps none of the tensors that it reads alive."""

    graph: torch.cuda.CUDAGraph
    result: Any
    call: Callable[[], Any]

    def __call__(self) -> Any:
        self.graph.replay()
        return self.result
