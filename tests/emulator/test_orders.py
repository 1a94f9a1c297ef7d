"""A missing barrier shows as other bits in another order of the threads, and the message says where."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.emulator import Argument, KernelLaunch, ThreadOrderError, run_all_orders, run_launches
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import launch_on


def test_a_missing_syncthreads_is_seen(build_file: BuildFile) -> None:
    out = np.zeros((2, 64), np.int32)
    launch = launch_on("exchange_without_barrier", [out], grid=2, block=64, shared_bytes=256)
    with pytest.raises(ThreadOrderError) as caught:
        run_all_orders(build_file("barriers"), [launch], [out])
    message = str(caught.value)
    assert message.startswith("kernel exchange_without_barrier: threads run forward and reverse leave")
    assert "buffer 0 (int32[2, 64]) at [0, 0] (byte 0): np.int32(-1) forward, np.int32(63) reverse" in message
    assert "512 of 512 bytes differ" in message


def test_a_missing_syncwarp_is_seen(build_file: BuildFile) -> None:
    buffers = [np.arange(32, dtype=np.int32), np.zeros(32, np.int32)]
    with pytest.raises(ThreadOrderError, match="exchange_without_syncwarp"):
        run_all_orders(build_file("warps"), [launch_on("exchange_without_syncwarp", buffers)], buffers)


def test_only_the_kernel_at_fault_is_named(build_file: BuildFile) -> None:
    out = np.zeros(64, np.int32)
    launches = [
        launch_on(name, [out], block=64, shared_bytes=256)
        for name in ("exchange", "exchange_without_barrier")
    ]
    with pytest.raises(ThreadOrderError, match="kernel exchange_without_barrier:"):
        run_all_orders(build_file("barriers"), launches, [out])


def test_launches_follow_each_other_as_in_one_run(build_file: BuildFile) -> None:
    first = [np.arange(32, dtype=np.int32), np.zeros(32, np.int32)]
    second = [buffer.copy() for buffer in first]
    launches = [
        KernelLaunch("halves", 1, 32, 0, (Argument(0), Argument(1))),
        KernelLaunch("halves", 1, 32, 0, (Argument(1), Argument(0))),
    ]
    run_all_orders(build_file("warps"), launches, first)
    run_launches(build_file("warps"), launches, second)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], np.arange(32))


def test_the_seed_is_the_order(build_file: BuildFile) -> None:
    def arrivals(seed: int) -> np.ndarray:
        buffers = [np.zeros(3, np.uint32), np.zeros(2, np.uint32), np.zeros(64, np.uint32)]
        run_launches(
            build_file("atomics"),
            [launch_on("arrival", buffers, block=64)],
            buffers,
            order="random",
            seed=seed,
        )
        return buffers[2]

    np.testing.assert_array_equal(arrivals(5), arrivals(5))
    assert not np.array_equal(arrivals(5), arrivals(6))
    np.testing.assert_array_equal(np.sort(arrivals(5)), np.arange(64))
