"""The kernel that tells the host of faults, run by the emulator; the host's half needs a GPU (tests/gpu)."""

from pathlib import Path

import numpy as np
import pytest

import dlrmc.runtime
from dlrmc.emulator.module import EmulatedModule
from dlrmc.runtime.device_faults import _PUBLISHED_DTYPE
from dlrmc.runtime.faults import FAULTS_DTYPE

SOURCE = Path(dlrmc.runtime.__file__).parent / "cuda" / "publish_faults.cu"
KERNEL = "dlrmc_publish_faults"


class Device:
    """The three records, and the kernel over them."""

    def __init__(self, cache_dir):
        self.module = EmulatedModule.build(SOURCE.read_text(), [(KERNEL, 3)], cache_dir=cache_dir)
        self.faults = np.zeros(1, FAULTS_DTYPE)
        self.progress = np.zeros(2, np.uint64)
        self.published = np.zeros(1, _PUBLISHED_DTYPE)

    def call(self, *fault):
        """One request; a fault is (site, position, value, limit), and the first one stays."""
        if fault:
            self.faults["count"] += 1
        if fault and self.faults["count"][0] == 1:
            for name, value in zip(("site", "position", "value", "limit"), fault, strict=True):
                self.faults[name] = value
        pointers = [array.ctypes.data for array in (self.faults, self.progress, self.published)]
        self.module.launch(KERNEL, 1, 32, 0, pointers)
        return tuple(self.published[0].tolist())


@pytest.fixture
def device(cache_dir):
    return Device(cache_dir)


def test_the_records_have_the_layout_of_the_device_code():
    assert [FAULTS_DTYPE.fields[name][1] for name in FAULTS_DTYPE.names] == [0, 4, 8, 16, 24]
    assert [_PUBLISHED_DTYPE.fields[name][1] for name in _PUBLISHED_DTYPE.names] == [0, 4, 8, 16, 24, 32]
    assert (FAULTS_DTYPE.itemsize, _PUBLISHED_DTYPE.itemsize) == (32, 40)


def test_good_calls_are_counted_and_write_nothing_to_the_host(device):
    for _ in range(3):
        assert device.call() == (0, 0, 0, 0, 0, 0)
    assert device.progress.tolist() == [3, 0]


def test_the_first_fault_is_published_with_its_call(device):
    device.call()
    assert device.call(4, 17, -2, 10) == (1, 4, 17, -2, 10, 2)


def test_later_faults_are_counted_and_the_first_stays(device):
    device.call(4, 17, -2, 10)
    assert device.call() == (1, 4, 17, -2, 10, 1)
    assert device.call(5, 0, 99, 20) == (2, 4, 17, -2, 10, 1)


def test_after_the_host_has_taken_the_fault_the_next_one_is_published(device):
    device.call(4, 17, -2, 10)
    device.faults[:] = np.zeros(1, FAULTS_DTYPE)
    device.progress[1] = 0
    device.published[:] = np.zeros(1, _PUBLISHED_DTYPE)
    assert device.call() == (0, 0, 0, 0, 0, 0)
    assert device.call(1, 2, 3, 4) == (1, 1, 2, 3, 4, 3)
