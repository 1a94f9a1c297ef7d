"""Shared memory belongs to one block, starts as NaN, and ends where the launch said."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.emulator import EmulationError, run_all_orders
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import launch_on

FILE = "shared_memory"


def test_unwritten_shared_memory_is_all_ones_in_every_block(build_file: BuildFile) -> None:
    out = np.zeros((3, 2, 32), np.uint32)
    run_all_orders(build_file(FILE), [launch_on("read_unwritten", [out], grid=3, shared_bytes=128)], [out])
    assert (out == 0xFFFFFFFF).all()


def test_static_arrays_of_template_instances_are_apart(build_file: BuildFile) -> None:
    out = np.zeros((2, 64), np.int32)
    run_all_orders(build_file(FILE), [launch_on("of_templates", [out], grid=2, block=64)], [out])
    expected = np.arange(128).reshape(2, 64)
    np.testing.assert_array_equal(out[:, 1:], expected[:, :-1])
    np.testing.assert_array_equal(out[:, 0], [-1, -1])


def test_a_write_past_the_dynamic_part_is_seen_without_a_sanitizer(build_file: BuildFile) -> None:
    out = np.zeros(32, np.int32)
    with pytest.raises(EmulationError) as caught:
        build_file(FILE).launch("write_past_dynamic", 2, 32, 128, [out.ctypes.data])
    assert "block (0,0,0) wrote byte 128 of its dynamic shared memory, which has 128 bytes" in str(
        caught.value
    )
