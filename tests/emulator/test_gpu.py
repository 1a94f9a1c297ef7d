"""The same kernels on a GPU give what they give in the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dlrmc.emulator import run_launches
from dlrmc.runtime.nvrtc import compile_source
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import kernel_file, launch_on

pytestmark = pytest.mark.gpu
RNG_SEED = 11


def numbers(shape: Sequence[int]) -> np.ndarray:
    return np.random.default_rng(RNG_SEED).standard_normal(shape).astype(np.float32)


def bits(count: int) -> np.ndarray:
    return np.random.default_rng(RNG_SEED).integers(0, 2**32, count, np.uint32)


HALVES = np.arange(65536).astype(np.uint16)
FLOATS = bits(65536).view(np.float32)
PAIRS = [numbers(shape).astype(ml_dtypes.bfloat16).view(np.uint32) for shape in ((16, 16), (8, 16))]
WEIGHTS = numbers((4, 256, 256)) / 16


def small_integers(count: int) -> np.ndarray:
    return np.random.default_rng(RNG_SEED).integers(-500, 500, count).astype(np.int32)


# file, kernel, buffers, blocks, threads, shared bytes, relative tolerance (0: equal, a NaN to any NaN)
CASES: tuple[tuple[str, str, list[np.ndarray], int, int, int, float], ...] = (
    ("barriers", "exchange", [np.zeros(3 * 256, np.int32)], 3, 256, 1024, 0),
    ("barriers", "votes", [np.zeros(96 * 4, np.int32)], 1, 96, 0, 0),
    ("barriers", "two_halves", [np.zeros(128, np.int32)], 1, 128, 0, 0),
    ("barriers", "producer_and_consumer", [np.zeros(32, np.int32)], 1, 64, 0, 0),
    ("warps", "integers", [small_integers(32), np.zeros(17 * 32, np.int32)], 1, 32, 0, 0),
    ("warps", "halves", [small_integers(32), np.zeros(32, np.int32)], 1, 32, 0, 0),
    ("async_copies", "copied", [numbers((64, 4)), np.zeros((64, 4), np.float32)], 1, 64, 0, 0),
    ("async_copies", "sizes", [small_integers(8), np.zeros(12, np.int32)], 1, 1, 0, 0),
    ("tensor_cores", "tf32", [*map(numbers, ((16, 8), (8, 8), (16, 8), (16, 8)))], 1, 32, 0, 1e-5),
    ("tensor_cores", "bf16", [*PAIRS, numbers((16, 8)), numbers((16, 8))], 1, 32, 0, 1e-5),
    (
        "numbers",
        "widen_f16",
        [HALVES, np.zeros(65536, np.float32)],
        64,
        1024,
        0,
        0,
    ),
    ("numbers", "narrow_f16", [FLOATS, np.zeros(65536, np.uint16)], 64, 1024, 0, 0),
    ("numbers", "narrow_bf16", [FLOATS, np.zeros(65536, np.uint16)], 64, 1024, 0, 0),
    ("numbers", "functions", [numbers((32,)), np.zeros((32, 12), np.float32)], 1, 32, 0, 2e-6),
    (
        "numbers",
        "integers",
        [np.array([-2.5, np.inf, np.nan, -3], np.float32), np.zeros(12, np.int32), np.zeros(3, np.int64)],
        1,
        1,
        0,
        0,
    ),
    (
        "fused",
        "fused",
        [numbers((8, 256)), WEIGHTS, np.zeros(8, np.float32)],
        8,
        256,
        1024,
        1e-5,
    ),
)


def run_on_gpu(
    name: str, kernel: str, buffers: Sequence[np.ndarray], launch: tuple[int, int, int], folder: Path
) -> list[np.ndarray]:
    import cupy

    device: Any = cupy.cuda.Device()
    path = folder / "module.cubin"
    path.write_bytes(compile_source(kernel_file(name).text, f"sm_{device.compute_capability}").data)
    grid, block, shared_bytes = launch
    arrays = [cupy.asarray(buffer) for buffer in buffers]
    function = cupy.RawModule(path=str(path)).get_function(kernel)
    function((grid,), (block,), tuple(arrays), shared_mem=shared_bytes)
    return [cupy.asnumpy(array) for array in arrays]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_gpu_and_emulator_agree(
    build_file: BuildFile,
    tmp_path: Path,
    case: tuple[str, str, list[np.ndarray], int, int, int, float],
) -> None:
    name, kernel, given, grid, block, shared_bytes, tolerance = case
    buffers = [buffer.copy() for buffer in given]
    launch = launch_on(kernel, buffers, grid=grid, block=block, shared_bytes=shared_bytes)
    run_launches(build_file(name), [launch], buffers)
    for emulated, real in zip(
        buffers, run_on_gpu(name, kernel, given, (grid, block, shared_bytes), tmp_path), strict=True
    ):
        if tolerance == 0:
            np.testing.assert_array_equal(real, emulated)
        else:
            np.testing.assert_allclose(
                real, emulated, rtol=tolerance, atol=tolerance * np.abs(emulated).max()
            )
