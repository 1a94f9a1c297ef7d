"""What this GPU can do, measured once: the limits that a kernel's time is held against."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from dlrmc.bench.sweep import matmul_precision
from dlrmc.bench.timing import Timer
from dlrmc.bench.variants.runner import captured

_COPY_BYTES = 1 << 30  # far beyond any L2
_CACHED_BYTES = 8 << 20  # source and target stay in the L2 of every GPU since A100
_CACHED_REPEATS = 50
_MATRIX = 8192
_ROUNDS = 7


@dataclass(frozen=True)
class Ceilings:
    """Measured limits of one GPU.

    Args:
        copy_gb_s: bytes read and written by a large copy in device memory, 1e9 a second.
        cached_copy_gb_s: likewise by a copy within the L2 cache.
        fp32_tflop_s: a large product of matrices in float32, a multiply-add counted as two.
        tf32_tflop_s: likewise with TF32 tensor cores.
        small_kernel_us: one kernel on a single value, in a row of many in a CUDA graph.
    """

    copy_gb_s: float
    cached_copy_gb_s: float
    fp32_tflop_s: float
    tf32_tflop_s: float
    small_kernel_us: float


def measure_ceilings(device: torch.device, timer: Timer) -> Ceilings:
    """Measure all limits; takes about a second and 2 GiB of device memory."""
    with torch.no_grad():
        return Ceilings(
            copy_gb_s=_copy_gb_s(device, timer, _COPY_BYTES, 1),
            cached_copy_gb_s=_copy_gb_s(device, timer, _CACHED_BYTES, _CACHED_REPEATS),
            fp32_tflop_s=_product_tflop_s(device, timer, "fp32"),
            tf32_tflop_s=_product_tflop_s(device, timer, "tf32"),
            small_kernel_us=_small_kernel_us(device, timer),
        )


def median_us(call: Callable[[], Any], timer: Timer, rounds: int = _ROUNDS) -> float:
    """The median device time of a call over some rounds, after two that do not count."""
    for _ in range(2):
        call()
    pairs = [(timer.mark(), timer.mark()) for _ in range(rounds)]
    for start, end in pairs:
        start.record()
        call()
        end.record()
    timer.synchronize()
    return statistics.median(timer.elapsed_us(start, end) for start, end in pairs)


def _copy_gb_s(device: torch.device, timer: Timer, size_bytes: int, repeats: int) -> float:
    source = torch.randint(256, (size_bytes,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    call = _repeated(lambda: target.copy_(source), repeats, device)
    return 2 * size_bytes * repeats / median_us(call, timer) / 1e3


def _product_tflop_s(device: torch.device, timer: Timer, precision: str) -> float:
    a, b = (torch.randn(_MATRIX, _MATRIX, device=device) for _ in range(2))
    out = torch.empty_like(a)
    with matmul_precision(precision):
        return 2 * _MATRIX**3 / median_us(lambda: torch.mm(a, b, out=out), timer, rounds=3) / 1e6


def _small_kernel_us(device: torch.device, timer: Timer) -> float:
    value = torch.zeros(1, device=device)
    call = _repeated(lambda: value.add_(1.0), _CACHED_REPEATS, device)
    return median_us(call, timer) / _CACHED_REPEATS


def _repeated(call: Callable[[], Any], repeats: int, device: torch.device) -> Callable[[], Any]:
    """The call some times in a row, as a CUDA graph where there is a GPU."""

    def run() -> None:
        for _ in range(repeats):
            call()

    return captured(run) if repeats > 1 and device.type == "cuda" else run
