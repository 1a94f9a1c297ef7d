"""Warp-wide functions against NumPy, by CUDA's definitions."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.emulator import EmulationError, run_all_orders
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import kernel_file, launch_on

FILE = "warps"
LANE = np.arange(32)


def shifted(value: np.ndarray, source: np.ndarray, in_reach: np.ndarray) -> np.ndarray:
    return value[np.where(in_reach, source, LANE)]


def expected_integers(value: np.ndarray) -> list[np.ndarray]:
    thirds = value % 3
    return [
        value[np.full(32, 5)],
        value[LANE * 7 % 32],
        value[LANE // 8 * 8 + 3],
        shifted(value, LANE - 1, LANE >= 1),
        shifted(value, LANE - 3, LANE % 16 >= 3),
        shifted(value, LANE + 2, LANE + 2 < 32),
        shifted(value, LANE + 5, LANE % 8 + 5 < 8),
        value[LANE ^ 16],
        shifted(value, LANE ^ 9, (LANE ^ 9) // 8 <= LANE // 8),
        np.full(32, int(np.sum((thirds == 0) * (1 << LANE)))).astype(np.uint32).view(np.int32)[:32],
        np.ones(32),
        np.zeros(32),
        np.full(32, value.sum()),
        np.full(32, value.min()),
        np.full(32, value.max()),
        np.array([np.sum((thirds == third) * (1 << LANE)) for third in thirds], np.uint32).view(np.int32),
        np.full(32, np.bitwise_xor.reduce(value)),
    ]


def test_integers(build_file: BuildFile) -> None:
    value = np.random.default_rng(1).permutation(1000)[:32].astype(np.int32)
    out = np.full((17, 32), -9, np.int32)
    run_all_orders(build_file(FILE), [launch_on("integers", [value, out])], [value, out])
    for row, (found, expected) in enumerate(zip(out, expected_integers(value), strict=True)):
        np.testing.assert_array_equal(found, expected, err_msg=f"row {row}")


def test_sums_of_every_type(build_file: BuildFile) -> None:
    value = np.arange(-20, 44, dtype=np.int32)
    buffers = [value, *(np.zeros(64, t) for t in (np.uint32, np.float32, np.int64, np.float64))]
    run_all_orders(build_file(FILE), [launch_on("sums", buffers, block=64)], buffers)
    sums = np.repeat(value.reshape(2, 32).sum(1), 32)
    np.testing.assert_array_equal(buffers[1].view(np.int32), sums)
    np.testing.assert_array_equal(buffers[2], sums)
    np.testing.assert_array_equal(buffers[3], sums * 10**10)
    np.testing.assert_array_equal(buffers[4], sums * 0.5)


def test_disjoint_masks_meet_apart(build_file: BuildFile) -> None:
    value = np.arange(32, dtype=np.int32)
    out = np.zeros(32, np.int32)
    run_all_orders(build_file(FILE), [launch_on("halves", [value, out])], [value, out])
    np.testing.assert_array_equal(out, np.where(LANE < 16, LANE ^ 3, LANE ^ 4)[::-1])


def test_a_warp_that_the_block_does_not_fill(build_file: BuildFile) -> None:
    value = np.arange(40, dtype=np.int32)
    out = np.zeros(40, np.int32)
    run_all_orders(build_file(FILE), [launch_on("partial_warp", [value, out], block=40)], [value, out])
    np.testing.assert_array_equal(out, [value[:32].sum() + 32] * 32 + [value[32:].sum() + 8] * 8)


def error_of(build_file: BuildFile, kernel: str) -> str:
    buffers = [np.zeros(32, np.int32), np.zeros(32, np.int32)]
    with pytest.raises(EmulationError) as caught:
        build_file(FILE).launch(kernel, 1, 32, 0, [buffer.ctypes.data for buffer in buffers])
    return str(caught.value)


def test_a_lane_that_never_comes_is_named(build_file: BuildFile) -> None:
    message = error_of(build_file, "lane_that_never_comes")
    line = kernel_file(FILE).line_of("if (lane == 9) return;") + 1
    assert message.startswith(f"kernel lane_that_never_comes, block (0,0,0), line {line}: deadlock")
    assert (
        f"31 of 32 threads (first: thread 0) wait at line {line} in a shuffle of warp 0 for the lanes 0xffff"
        in message
    )
    assert "1 of 32 threads (first: thread 9) have returned" in message


def test_two_operations_do_not_meet(build_file: BuildFile) -> None:
    message = error_of(build_file, "two_operations")
    assert "__all_sync with the mask 0xffffffff, while thread 0 is in __any_sync at line" in message


def test_the_mask_has_the_caller(build_file: BuildFile) -> None:
    message = error_of(build_file, "mask_without_the_caller")
    assert "a shuffle: the mask 0x0000ffff lacks the calling lane 16" in message
