"""Barriers: they hold, they vote, and a thread that never comes is an error and not a hang."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.emulator import EmulationError, run_all_orders
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import kernel_file, launch_on

FILE = "barriers"


@pytest.mark.parametrize("block", [1, 31, 32, 33, 256, 1024])
def test_syncthreads_holds_in_every_order(build_file: BuildFile, block: int) -> None:
    out = np.zeros((3, block), np.int32)
    launch = launch_on("exchange", [out], grid=3, block=block, shared_bytes=4 * block)
    run_all_orders(build_file(FILE), [launch], [out])
    np.testing.assert_array_equal(out, np.tile(np.arange(block)[::-1], (3, 1)))


def test_votes_count_all_threads_of_the_block(build_file: BuildFile) -> None:
    out = np.zeros((96, 4), np.int32)
    run_all_orders(build_file(FILE), [launch_on("votes", [out], block=96)], [out])
    np.testing.assert_array_equal(out, np.tile([48, 1, 0, 1], (96, 1)))


def test_named_barriers_join_parts_of_a_block(build_file: BuildFile) -> None:
    out = np.zeros((2, 64), np.int32)
    run_all_orders(build_file(FILE), [launch_on("two_halves", [out], block=128)], [out])
    place = np.arange(64)
    np.testing.assert_array_equal(out, [(place + 3 * 33) % 64, 64 + (place + 5 * 33) % 64])


def test_arriving_does_not_wait(build_file: BuildFile) -> None:
    out = np.zeros(32, np.int32)
    run_all_orders(build_file(FILE), [launch_on("producer_and_consumer", [out], block=64)], [out])
    np.testing.assert_array_equal(out, 100 + np.arange(32))


def error_of(build_file: BuildFile, kernel: str, block: int, order: str = "forward") -> str:
    out = np.zeros(block, np.int32)
    with pytest.raises(EmulationError) as caught:
        build_file(FILE).launch(kernel, 1, block, 0, [out.ctypes.data], order=order, seed=3)
    return str(caught.value)


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_a_barrier_that_some_threads_never_reach_is_named(build_file: BuildFile, order: str) -> None:
    line = kernel_file(FILE).line_of("threadIdx.x < 40")
    message = error_of(build_file, "barrier_in_a_branch", 64, order)
    assert message.startswith(f"kernel barrier_in_a_branch, block (0,0,0), line {line}: deadlock")
    assert f"40 of 64 threads (first: thread 0) wait at line {line} in __syncthreads for all 64" in message
    assert "24 of 64 threads (first: thread 40) have returned from the kernel" in message
    assert f"> kernels.cu:{line}:     if (threadIdx.x < 40) __syncthreads();" in message


def test_two_barriers_are_not_one(build_file: BuildFile) -> None:
    message = error_of(build_file, "barriers_in_two_branches", 64)
    assert "thread (32,0,0)" in message
    assert "while thread 0 and others are at the one of line" in message
    assert "32 of 64 threads had come" in message


def test_a_named_barrier_short_of_a_warp_is_named(build_file: BuildFile) -> None:
    message = error_of(build_file, "named_barrier_short_of_a_warp", 128)
    assert "64 of 128 threads (first: thread 0) wait" in message
    assert "in barrier 5 for 96 threads, of which 64 have come" in message


def test_a_named_barrier_has_one_size(build_file: BuildFile) -> None:
    message = error_of(build_file, "named_barrier_of_two_sizes", 64, "random")
    assert "barrier 5 for" in message


def test_the_module_works_after_a_deadlock(build_file: BuildFile) -> None:
    error_of(build_file, "barrier_in_a_branch", 64)
    out = np.zeros(64, np.int32)
    build_file(FILE).launch("exchange", 1, 64, 256, [out.ctypes.data])
    np.testing.assert_array_equal(out, np.arange(64)[::-1])
