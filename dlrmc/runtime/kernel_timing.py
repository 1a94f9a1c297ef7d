"""The kernels of a compiled program one by one, each repeated in a CUDA graph of its own, to be timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from dlrmc.errors import OptionError
from dlrmc.ir.graph import Node
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.cuda_driver import CudaDriver
from dlrmc.runtime.cuda_executor import CudaExecutor
from dlrmc.runtime.kernel_graph import KernelGraph


@dataclass(frozen=True)
class RepeatedKernel:
    """One kernel alone, launched again and again on the buffers of one request.

    Args:
        name: in the CUDA source.
        node: the kernel in the IR.
        grid: blocks.
        block: threads a block.
        replay: launches it `repeats` times, one after the other, on the current stream of torch.
        outputs: of the request, those of the whole program, which it writes its part of.
        kept: what else the graph points at.
    """

    name: str
    node: Node
    grid: int
    block: int
    replay: Callable[[], None]
    outputs: tuple[torch.Tensor, ...]
    kept: tuple[Any, ...]


def repeated_kernels(
    compiled: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], repeats: int
) -> tuple[RepeatedKernel, ...]:
    """The kernels of a request in order of execution, on a fresh arena that one whole request has filled.

    In a graph, so that the host does not slow them down: a launch by itself takes longer than a small kernel.

    Args:
        compiled: for the target `cuda`.
        args: positional arguments of the request, their tensors on the GPU and contiguous.
        kwargs: keyword arguments.
        repeats: launches a replay.

    Raises:
        OptionError: the target is another.
        InputError: the arguments do not fit.
    """
    executor = compiled._executor
    if not isinstance(executor, CudaExecutor):
        raise OptionError(f"target {compiled.target.name}", found="no GPU to time", expected="target cuda")
    inputs = compiled._binder.flatten(args, kwargs).tensors
    program, driver = executor._program, executor._program.driver
    with driver.entered():
        stream = driver.current_stream(driver.index)
        arena, table, outputs = program.new_arena(), program.new_table(), executor.fresh_outputs()
        table.write(program.cells(inputs, outputs), stream)
        launches = program.launches(arena, table, executor.faults.address)
        if launches:
            # It has a name: a graph that nobody holds is destroyed before it is launched.
            whole = driver.make_graph(launches)
            driver.launch_graph(whole.handle, stream)
        driver.synchronize()
        kept = (compiled, arena, table, inputs)
        sources, planned = compiled._build.module.kernels, program.plan.launches
        return tuple(
            RepeatedKernel(
                name=source.name,
                node=each.kernel,
                grid=source.grid,
                block=source.block,
                replay=_replay(driver, driver.make_graph([launch] * repeats)),
                outputs=tuple(outputs),
                kept=kept,
            )
            for source, each, launch in zip(sources, planned, launches, strict=True)
        )


def _replay(driver: CudaDriver, graph: KernelGraph) -> Callable[[], None]:
    def replay() -> None:
        driver.launch_graph(graph.handle, driver.current_stream(driver.index))

    return replay
