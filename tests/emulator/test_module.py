"""Launching: arguments are checked, a kernel's faults do not end the process, modules are apart."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from dlrmc.emulator import Argument, EmulationError, KernelLaunch, run_launches
from dlrmc.errors import InputError
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import kernel_file, launch_on


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "exchanges"}, "no such kernel"),
        ({"pointers": []}, "0 pointers"),
        ({"pointers": [0, 0]}, "2 pointers"),
        ({"grid": 0}, "grid 0"),
        ({"grid": (1, 1, 1, 1)}, "grid"),
        ({"block": 0}, "block 0"),
        ({"block": (32, 33)}, r"block \(32, 33\)"),
        ({"shared_bytes": -1}, "-1 bytes of shared memory"),
        ({"shared_bytes": 232449}, "expected: 0 to 232448"),
        ({"order": "sideways"}, "forward, reverse, random"),
    ],
)
def test_arguments_are_checked(build_file: BuildFile, changes: dict[str, object], message: str) -> None:
    good = {"name": "exchange", "grid": 1, "block": 32, "shared_bytes": 0, "pointers": [0]}
    with pytest.raises(InputError, match=message):
        build_file("barriers").launch(**{**good, **changes})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("kernel", "fill", "message"),
    [
        ("trap", 0, "kernel trap, block (2,0,0), thread (5,0,0), line {line}: __trap"),
        ("failed_assertion", 31, "thread (0,0,0), line {line}: assertion failed: x[threadIdx.x] < 31"),
        ("null_address", 8, "thread (0,0,0): invalid memory access at address 0x8"),
        ("division_by_zero", 0, "thread (0,0,0): integer division by zero"),
        ("deep_recursion", 0, "stack overflow: the locals of one thread need more than 131072 bytes"),
    ],
)
def test_a_fault_is_an_error_of_the_launch(
    build_file: BuildFile, kernel: str, fill: int, message: str
) -> None:
    x = np.full(64, fill, np.int32)
    with pytest.raises(EmulationError) as caught:
        build_file("faults").launch(kernel, 4, 32, 0, [x.ctypes.data])
    parts = {"trap": "__trap();", "failed_assertion": "assert(x"}
    line = kernel_file("faults").line_of(parts.get(kernel, kernel))
    assert message.format(line=line) in str(caught.value)
    slot = np.array([x.ctypes.data], np.uint64)
    build_file("faults").launch("nothing_wrong", 1, 32, 0, [x.ctypes.data, slot.ctypes.data])


def test_indirect_arguments_and_offsets(build_file: BuildFile) -> None:
    x, y = np.arange(40, dtype=np.int32), np.zeros(48, np.int32)
    arguments = (Argument(0, offset_bytes=32), Argument(1, offset_bytes=64, indirect=True))
    run_launches(build_file("faults"), [KernelLaunch("nothing_wrong", 1, 32, 0, arguments)], [x, y])
    np.testing.assert_array_equal(y[16:], x[8:][::-1] + 1)
    assert (y[:16] == 0).all()


@pytest.mark.parametrize(
    "argument", [Argument(2), Argument(0, offset_bytes=129), Argument(0, offset_bytes=-4)]
)
def test_an_argument_points_into_a_buffer(build_file: BuildFile, argument: Argument) -> None:
    x = np.zeros(32, np.int32)
    with pytest.raises(InputError, match="kernel trap, argument 0"):
        run_launches(build_file("faults"), [KernelLaunch("trap", 1, 32, 0, (argument,))], [x])


def test_a_buffer_is_contiguous(build_file: BuildFile) -> None:
    x = np.zeros((32, 2), np.int32)[:, 0]
    with pytest.raises(InputError, match="buffer 0"):
        run_launches(build_file("faults"), [launch_on("trap", [x])], [x])


def test_grid_and_block_of_three_dimensions(build_file: BuildFile) -> None:
    out = np.zeros(3 * 64, np.int32)
    build_file("places").launch("places", (3, 2, 2), (8, 4, 2), 0, [out.ctypes.data])
    x, y, z = np.arange(64) % 8, np.arange(64) // 8 % 4, np.arange(64) // 32
    np.testing.assert_array_equal(
        out.reshape(3, 64), [4 * (x + 10 * y + 100 * z + 1000 * b) for b in range(3)]
    )


def test_two_modules_at_once(build_file: BuildFile) -> None:
    """Each keeps its own barriers and shared memory, though both run at the same time."""
    first, second = build_file("barriers"), build_file("shared_memory")
    out_first, out_second = np.zeros((64, 256), np.int32), np.zeros((64, 64), np.int32)

    def run_first() -> None:
        for _ in range(20):
            first.launch("exchange", 64, 256, 1024, [out_first.ctypes.data])

    thread = threading.Thread(target=run_first)
    thread.start()
    for _ in range(20):
        second.launch("of_templates", 64, 64, 0, [out_second.ctypes.data], order="reverse")
    thread.join()
    np.testing.assert_array_equal(out_first, np.tile(np.arange(256)[::-1], (64, 1)))
    np.testing.assert_array_equal(out_second[:, 1:], np.arange(64 * 64).reshape(64, 64)[:, :-1])


def test_two_threads_on_one_module(build_file: BuildFile) -> None:
    module = build_file("barriers")
    outs = [np.zeros((16, 256), np.int32) for _ in range(2)]

    def run(out: np.ndarray) -> None:
        for _ in range(20):
            module.launch("exchange", 16, 256, 1024, [out.ctypes.data])

    threads = [threading.Thread(target=run, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in outs:
        np.testing.assert_array_equal(out, np.tile(np.arange(256)[::-1], (16, 1)))
