"""Atomic functions over several blocks, in every order."""

from __future__ import annotations

import numpy as np

from dlrmc.emulator import run_all_orders
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import launch_on

FILE = "atomics"


def test_sums_and_extremes(build_file: BuildFile) -> None:
    value = np.random.default_rng(2).integers(-1000, 1000, 256).astype(np.int32)
    buffers = [
        value,
        np.zeros(3, np.int32),
        np.zeros(2, np.uint32),
        np.zeros(1, np.uint64),
        np.zeros(1, np.float32),
    ]
    run_all_orders(build_file(FILE), [launch_on("count", buffers, grid=4, block=64)], buffers)
    np.testing.assert_array_equal(buffers[1], [value.sum(), value.max(), value.min()])
    np.testing.assert_array_equal(buffers[2], [256, np.bitwise_or.reduce(1 << (value.astype(np.int64) & 31))])
    np.testing.assert_array_equal(buffers[3], [256 << 33])
    np.testing.assert_array_equal(buffers[4], [256.0])


def test_compare_and_swap_has_one_winner(build_file: BuildFile) -> None:
    buffers = [np.zeros(3, np.uint32), np.zeros(2, np.uint32), np.zeros(192, np.uint32)]
    run_all_orders(build_file(FILE), [launch_on("claim", buffers, grid=3, block=64)], buffers)
    np.testing.assert_array_equal(buffers[0], [192, 7, 1])
    np.testing.assert_array_equal(buffers[1], [1, 1])
    np.testing.assert_array_equal(buffers[2], np.ones(192))


def test_the_last_block_sees_all_others(build_file: BuildFile) -> None:
    value = np.arange(5 * 32, dtype=np.int32)
    buffers = [value, np.zeros(5, np.int32), np.zeros(1, np.uint32), np.zeros(1, np.int32)]
    run_all_orders(build_file(FILE), [launch_on("last_block", buffers, grid=5)], buffers)
    assert buffers[3][0] == value.sum()
