"""The short way of a call whose tensors kernels can read as they lie: one function, without a detour.

A small model takes the GPU a few microseconds, and a call that goes through the layers of the runtime one by
one takes the host as much. This is the same call in one function; whatever is unusual is left to the layers.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dlrmc.runtime.torch_internals import data_ptr

if TYPE_CHECKING:
    from dlrmc.runtime.binding import Binder
    from dlrmc.runtime.cuda_executor import CudaExecutor
    from dlrmc.runtime.shared_weights import SharedWeights

# Takes the positional arguments; gives None where the call is not one for the short way, and has not run.
QuickCall = Callable[[tuple[Any, ...]], Any]

# Runs what was bound; False where this is left to the long way, and nothing has run.
QuickStep = Callable[[], bool]

_version = attrgetter("_version")


def no_quick_call(args: tuple[Any, ...]) -> None:
    """Leaves every call to the long way."""


def no_quick_step() -> bool:
    """Leaves every run to the long way."""
    return False


def make_quick_call(executor: CudaExecutor, binder: Binder, weights: SharedWeights) -> QuickCall:
    """The short way of one executor's calls.

    Left to the long way: keywords, constants and nested structures among the arguments, tensors unlike those
    of the last good call, weights written since, captures, faults that wait to be raised, another stream than
    that of the last call, a stream that others own, several GPUs. CUDA captures no call on its default stream
    (handle 0), so that one is not asked.

    Args:
        executor: runs the program, and raises no faults in the call that has them.
        binder: of the program's signature.
        weights: that the program reads.
    """
    driver, order, slots = executor.driver, executor.order, executor.slots
    flatten, results, guard, count_check = (
        binder.positional,
        binder.plain_results,
        binder.guard,
        binder.count_check,
    )
    if flatten is None or results is None or driver.has_other_devices:
        return no_quick_call
    is_capturing, current_stream, launch_graph = (
        driver.is_capturing,
        driver.current_stream,
        driver.launch_graph,
    )
    lock, news, index, makers = executor.lock, executor.faults.news, driver.index, executor.makers
    read = slots.read

    def call(args: tuple[Any, ...]) -> Any:
        inputs = flatten(args)
        if inputs is None or not guard.newest(inputs):
            return None
        if weights.watched and tuple(map(_version, weights.watched)) != weights.versions:
            return None
        if count_check is not None:
            count_check.check(inputs)
        with lock:
            stream = current_stream(index)
            if news[0] or stream != order.last or order.is_foreign or (stream and is_capturing()):
                return None
            outputs = [make() for make in makers]
            addresses = tuple(map(data_ptr, outputs))
            found = read(inputs)
            slot = slots.find(found, addresses)
            if slot is None:
                # Under a name: copies of inputs must live until they have been read.
                slot, inputs = executor.write(inputs, found, addresses, stream)
            if slot.handle:
                launch_graph(slot.handle, stream)
            executor.calls += 1
        return results(outputs)

    return call


def make_quick_step(executor: CudaExecutor, handle: int, weights: SharedWeights) -> QuickStep:
    """The short way of a bound call: the same, with inputs and outputs that stay.

    Args:
        executor: of the bound call alone, which raises no faults in the call that has them.
        handle: of its executable graph.
        weights: that the program reads.
    """
    driver, order = executor.driver, executor.order
    if driver.has_other_devices or not handle:
        return no_quick_step
    is_capturing, current_stream, launch_graph = (
        driver.is_capturing,
        driver.current_stream,
        driver.launch_graph,
    )
    lock, news, index = executor.lock, executor.faults.news, driver.index

    def run() -> bool:
        if weights.watched and tuple(map(_version, weights.watched)) != weights.versions:
            return False
        with lock:
            stream = current_stream(index)
            if news[0] or stream != order.last or order.is_foreign or (stream and is_capturing()):
                return False
            launch_graph(handle, stream)
            executor.calls += 1
        return True

    return run
