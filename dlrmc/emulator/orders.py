"""Missing barriers: run the threads in several orders, and compare every bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlrmc.emulator.faults import ThreadOrderError
from dlrmc.emulator.launch import KernelLaunch, run_launches
from dlrmc.emulator.module import EmulatedModule

DEFAULT_SEEDS = (1, 2)


def run_all_orders(
    module: EmulatedModule,
    launches: Sequence[KernelLaunch],
    buffers: Sequence[np.ndarray],
    *,
    seeds: Sequence[int] = DEFAULT_SEEDS,
) -> None:
    """Run each launch in the orders forward, reverse and random (once a seed); all must leave the same bytes.

    The arrays are changed in place, as by `run_launches`. Sums by floating-point atomics depend on the order
    by nature and fail here, as they should: the compiler promises the same bits for the same call.

    Raises:
        ThreadOrderError: names the kernel, the two orders, and the first element that differs.
        InputError, EmulationError: as `run_launches`.
    """
    others = [("reverse", 0), *(("random", seed) for seed in seeds)]
    for launch in launches:
        before = [buffer.copy() for buffer in buffers]
        run_launches(module, [launch], buffers, order="forward")
        for order, seed in others:
            again = [buffer.copy() for buffer in before]
            run_launches(module, [launch], again, order=order, seed=seed)
            name = f"random (seed {seed})" if order == "random" else order
            _compare(launch, name, buffers, again)


def _compare(
    launch: KernelLaunch, order: str, forward: Sequence[np.ndarray], other: Sequence[np.ndarray]
) -> None:
    for number, (left, right) in enumerate(zip(forward, other, strict=True)):
        different = np.flatnonzero(_as_bytes(left) != _as_bytes(right))
        if different.size == 0:
            continue
        byte = int(different[0])
        element = byte // left.itemsize
        place = tuple(int(i) for i in np.unravel_index(element, left.shape)) if left.shape else ()
        values = f"{left.reshape(-1)[element]!r} forward, {right.reshape(-1)[element]!r} {order}"
        raise ThreadOrderError(
            f"kernel {launch.kernel}",
            found=f"threads run forward and {order} leave different bits: buffer {number} "
            f"({left.dtype}{list(left.shape)}) at {list(place)} (byte {byte}): {values}; "
            f"{different.size} of {left.nbytes} bytes differ",
            expected="the same bits in every order of the threads between two barriers",
            hint="a barrier, or a cp.async wait, is missing between a write and a read of the same memory",
        )


def _as_bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)
