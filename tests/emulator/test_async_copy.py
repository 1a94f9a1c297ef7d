"""cp.async: nothing is there before the wait, nor for the others before the barrier."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.emulator import EmulationError, ThreadOrderError, run_all_orders
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import launch_on

FILE = "async_copies"


def float4_buffers() -> list[np.ndarray]:
    return [np.arange(256, dtype=np.float32).reshape(64, 4), np.zeros((64, 4), np.float32)]


def test_a_copy_arrives_with_wait_and_barrier(build_file: BuildFile) -> None:
    buffers = float4_buffers()
    run_all_orders(build_file(FILE), [launch_on("copied", buffers, block=64)], buffers)
    np.testing.assert_array_equal(buffers[1], buffers[0][::-1])


def test_a_missing_wait_shows_the_old_bytes(build_file: BuildFile) -> None:
    buffers = float4_buffers()
    run_all_orders(build_file(FILE), [launch_on("copied_without_wait", buffers, block=64)], buffers)
    assert (buffers[1] == -1).all()


def test_a_missing_barrier_is_seen(build_file: BuildFile) -> None:
    buffers = float4_buffers()
    with pytest.raises(ThreadOrderError, match="kernel copied_without_barrier"):
        run_all_orders(build_file(FILE), [launch_on("copied_without_barrier", buffers, block=64)], buffers)


def test_groups_arrive_in_order(build_file: BuildFile) -> None:
    buffers = [np.array([10, 11, 12], np.int32), np.zeros((3, 3), np.int32)]
    run_all_orders(build_file(FILE), [launch_on("groups", buffers, block=1)], buffers)
    np.testing.assert_array_equal(buffers[1], [[10, -1, -1], [10, 11, -1], [10, 11, 12]])


def test_sizes_and_zero_fill(build_file: BuildFile) -> None:
    buffers = [np.arange(1, 9, dtype=np.int32), np.zeros(12, np.int32)]
    run_all_orders(build_file(FILE), [launch_on("sizes", buffers, block=1)], buffers)
    np.testing.assert_array_equal(buffers[1], [1, -1, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0])


def test_words_are_loaded_and_stored_at_once(build_file: BuildFile) -> None:
    buffers = [np.arange(8, dtype=np.int32), np.zeros(8, np.int32)]
    run_all_orders(build_file(FILE), [launch_on("words", buffers, block=1)], buffers)
    np.testing.assert_array_equal(buffers[1], [0, 0, 0, 0, 2, 3, 0, 0])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("misaligned", "which is no multiple of 16"),
        ("not_to_shared", "which is not in shared memory"),
        ("misaligned_load", "several words at an address that is no multiple"),
        ("misaligned_store", "several words at an address that is no multiple"),
    ],
)
def test_bad_addresses_are_refused(build_file: BuildFile, kernel: str, message: str) -> None:
    buffers = [np.zeros(8, np.int32), np.zeros(8, np.int32)]
    with pytest.raises(EmulationError, match=message):
        build_file(FILE).launch(kernel, 1, 1, 0, [buffer.ctypes.data for buffer in buffers])
