"""What only the sanitizers see, each with the line of the source; and that they keep quiet otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.emulator import Argument, EmulationError, KernelLaunch, SanitizerError
from dlrmc.emulator.sanitize import SanitizedWorker
from dlrmc.errors import InputError
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import kernel_file, launch_on


@pytest.mark.parametrize(
    ("kernel", "source_part", "found"),
    [
        ("past_the_end", "x[threadIdx.x + 1] = 1;", "heap-buffer-overflow"),
        ("before_the_start", "- 1] = 1;", "heap-buffer-overflow"),
        ("signed_overflow", "+= 2147483647", "signed integer overflow"),
        ("misaligned_vector", "four->x + four->w", "misaligned address"),
        ("shift_too_far", "1 << x[1]", "shift exponent 64 is too large"),
        ("past_a_local_array", "return cells[index];", "stack-buffer-overflow"),
    ],
)
def test_faults_are_found(
    build_file: BuildFile, sanitized_worker: SanitizedWorker, kernel: str, source_part: str, found: str
) -> None:
    module = build_file("faults", sanitize=True)
    x = np.full(32, 4 if kernel == "past_a_local_array" else 64, np.int32)
    with pytest.raises(SanitizerError) as caught:
        sanitized_worker.run(module, [launch_on(kernel, [x])], [x])
    line = kernel_file("faults").line_of(source_part)
    assert str(caught.value).startswith(f"kernel {kernel}, sanitized: ")
    assert found in str(caught.value)
    assert f"kernels.cu:{line}" in caught.value.report


@pytest.mark.parametrize(
    ("kernel", "found"),
    [("write_past_dynamic", "use-after-poison"), ("write_past_static", "global-buffer-overflow")],
)
def test_overruns_of_shared_memory_are_found(
    build_file: BuildFile, sanitized_worker: SanitizedWorker, kernel: str, found: str
) -> None:
    x = np.full(32, 8, np.int32)
    with pytest.raises(SanitizerError, match=found):
        sanitized_worker.run(
            build_file("shared_memory", sanitize=True), [launch_on(kernel, [x], shared_bytes=128)], [x]
        )


def test_good_kernels_run_and_one_process_serves_them_all(build_file: BuildFile) -> None:
    rng = np.random.default_rng(7)
    x, w = (
        rng.standard_normal((8, 256), dtype=np.float32),
        rng.standard_normal((4, 256, 256), dtype=np.float32),
    )
    plain, checked = np.zeros(8, np.float32), np.zeros(8, np.float32)
    build_file("fused").launch("fused", 8, 256, 1024, [b.ctypes.data for b in (x, w, plain)])
    with SanitizedWorker() as worker:
        for order in ("forward", "reverse", "random"):
            launch = launch_on("fused", [x, w, checked], grid=8, block=256, shared_bytes=1024)
            worker.run(build_file("fused", sanitize=True), [launch], [x, w, checked], order=order, seed=1)
            np.testing.assert_array_equal(checked, plain)
            checked[:] = 0
        halves = [np.arange(32, dtype=np.int32), np.zeros(32, np.int32)]
        worker.run(build_file("warps", sanitize=True), [launch_on("halves", halves)], halves)
        assert worker.starts == 1
    assert halves[1].any()


def test_indirect_arguments_reach_the_worker(
    build_file: BuildFile, sanitized_worker: SanitizedWorker
) -> None:
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    launch = KernelLaunch("nothing_wrong", 1, 32, 0, (Argument(0), Argument(1, indirect=True)))
    sanitized_worker.run(build_file("faults", sanitize=True), [launch], [x, y])
    np.testing.assert_array_equal(y, x[::-1] + 1)


def test_after_a_report_a_new_process_serves(build_file: BuildFile) -> None:
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    module = build_file("faults", sanitize=True)
    good = KernelLaunch("nothing_wrong", 1, 32, 0, (Argument(0), Argument(1, indirect=True)))
    with SanitizedWorker() as worker:
        with pytest.raises(SanitizerError):
            worker.run(module, [launch_on("past_the_end", [x])], [x])
        np.testing.assert_array_equal(x, np.arange(32))
        worker.run(module, [good], [x, y])
        assert worker.starts == 2


def test_errors_of_the_runtime_come_through(build_file: BuildFile, sanitized_worker: SanitizedWorker) -> None:
    out = np.zeros(64, np.int32)
    starts = sanitized_worker.starts
    with pytest.raises(EmulationError, match="deadlock"):
        sanitized_worker.run(
            build_file("barriers", sanitize=True), [launch_on("barrier_in_a_branch", [out], block=64)], [out]
        )
    launch = launch_on("exchange", [out], block=64, shared_bytes=256)
    sanitized_worker.run(build_file("barriers", sanitize=True), [launch], [out])
    np.testing.assert_array_equal(out, np.arange(64)[::-1])
    assert sanitized_worker.starts <= starts + 1


def test_each_kind_of_module_has_its_place(build_file: BuildFile, sanitized_worker: SanitizedWorker) -> None:
    x = np.zeros(32, np.int32)
    with pytest.raises(InputError, match="SanitizedWorker"):
        build_file("faults", sanitize=True).launch("trap", 1, 32, 0, [x.ctypes.data])
    with pytest.raises(InputError, match="sanitize=True"):
        sanitized_worker.run(build_file("faults"), [launch_on("trap", [x])], [x])
