"""cp.async.bulk: one thread asks, and what it asked for is there behind a wait at the barrier."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.emulator import EmulationError, run_all_orders
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import launch_on

FILE = "bulk_copies"


def test_bulk_copies_arrive_with_the_wait(build_file: BuildFile) -> None:
    buffers = [np.arange(64, dtype=np.int32), np.zeros(64, np.int32)]
    run_all_orders(build_file(FILE), [launch_on("copied_in_bulk", buffers, block=64)], buffers)
    np.testing.assert_array_equal(buffers[1], buffers[0][::-1])


def test_a_missing_wait_for_bulk_copies_shows_the_old_bytes(build_file: BuildFile) -> None:
    buffers = [np.arange(64, dtype=np.int32), np.zeros(64, np.int32)]
    run_all_orders(build_file(FILE), [launch_on("bulk_without_wait", buffers, block=64)], buffers)
    assert (buffers[1] == -1).all()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("bulk_without_barrier", "a barrier of copies that nobody has made"),
        ("bulk_half_asked", "a wait for copies that nobody has asked for"),
    ],
)
def test_bulk_copies_want_a_barrier_and_all_bytes(build_file: BuildFile, kernel: str, message: str) -> None:
    buffers = [np.zeros(64, np.int32), np.zeros(64, np.int32)]
    with pytest.raises(EmulationError, match=message):
        build_file(FILE).launch(kernel, 1, 64, 0, [buffer.ctypes.data for buffer in buffers])
