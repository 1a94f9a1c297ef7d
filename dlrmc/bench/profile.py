"""Where the time of one request goes: each kernel alone, its least work, and the whole graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dlrmc.bench.ceilings import Ceilings, median_us
from dlrmc.bench.text_table import number, table_lines
from dlrmc.bench.timing import Timer
from dlrmc.runtime.kernel_timing import RepeatedKernel
from dlrmc.schedule.cost import Cost, kernel_cost

REPEATS = 50
_ROUNDS = 21


@dataclass(frozen=True)
class KernelTime:
    """One kernel of a request.

    Args:
        name: in the CUDA source.
        impl: the implementation's name.
        grid: blocks.
        block: threads a block.
        time_us: median of launches in a row, the L2 cache warm.
        cost: the least work.
    """

    name: str
    impl: str
    grid: int
    block: int
    time_us: float
    cost: Cost

    def floor_us(self, ceilings: Ceilings, *, is_tf32: bool) -> float:
        """The time that the least work takes at the measured limits, the larger of memory and arithmetic."""
        return max(self.memory_us(ceilings), self.arithmetic_us(ceilings, is_tf32=is_tf32))

    def memory_us(self, ceilings: Ceilings) -> float:
        """The least bytes at the rate of a large copy."""
        return self.cost.bytes / ceilings.copy_gb_s / 1e3

    def arithmetic_us(self, ceilings: Ceilings, *, is_tf32: bool) -> float:
        """The least operations at the rate of a large product."""
        return self.cost.flops / (ceilings.tf32_tflop_s if is_tf32 else ceilings.fp32_tflop_s) / 1e6


@dataclass(frozen=True)
class Profile:
    """One request.

    Args:
        kernels: in order of execution.
        whole_us: a request in a row of many, by events.
        ceilings: what the GPU can do.
        is_tf32: whether arithmetic is held against the rate of TF32.
    """

    kernels: tuple[KernelTime, ...]
    whole_us: float
    ceilings: Ceilings
    is_tf32: bool = False

    @property
    def sum_us(self) -> float:
        """All kernels."""
        return sum(kernel.time_us for kernel in self.kernels)

    @property
    def gap_us(self) -> float:
        """What the whole takes beyond its kernels; below zero where kernels overlap."""
        return self.whole_us - self.sum_us

    @property
    def cost(self) -> Cost:
        """The least work of all kernels."""
        return sum((kernel.cost for kernel in self.kernels), Cost())


def measure_profile(
    kernels: Sequence[RepeatedKernel],
    step: Callable[[], Any],
    timer: Timer,
    ceilings: Ceilings,
    *,
    is_tf32: bool = False,
) -> Profile:
    """Time each kernel alone and the request as a whole.

    Args:
        kernels: each launching itself `REPEATS` times.
        step: one request.
        timer: clocks of the GPU.
        ceilings: measured in the same process.
        is_tf32: whether the program's products may be TF32.
    """
    times = tuple(_kernel_time(kernel, timer) for kernel in kernels)

    def steps() -> None:
        for _ in range(REPEATS):
            step()

    return Profile(times, median_us(steps, timer, _ROUNDS) / REPEATS, ceilings, is_tf32)


def _kernel_time(kernel: RepeatedKernel, timer: Timer) -> KernelTime:
    time_us = median_us(kernel.replay, timer, _ROUNDS) / REPEATS
    impl = kernel.node.attributes.str("impl")
    return KernelTime(kernel.name, impl, kernel.grid, kernel.block, time_us, kernel_cost(kernel.node))


_HEAD = ("kernel", "impl", "launch", "us", "MB", "MFLOP", "GB/s", "% copy", "GFLOP/s", "% fp", "floor us")


def profile_lines(profile: Profile) -> list[str]:
    """The profile as text."""
    rows = [_row(profile, kernel) for kernel in profile.kernels]
    limits = profile.ceilings
    return [
        *table_lines(_HEAD, rows, left=3),
        "",
        f"kernels {profile.sum_us:.2f} us, whole request {profile.whole_us:.2f} us, "
        f"gap {profile.gap_us:+.2f} us",
        f"least work {profile.cost.bytes / 1e6:.3f} MB, "
        f"{profile.cost.multiply_adds / 1e6:.3f} M multiply-adds",
        f"measured limits: copy {limits.copy_gb_s:.0f} GB/s, in L2 {limits.cached_copy_gb_s:.0f} GB/s, "
        f"fp32 {limits.fp32_tflop_s:.1f} TFLOP/s, TF32 {limits.tf32_tflop_s:.1f} TFLOP/s, "
        f"smallest kernel {limits.small_kernel_us:.2f} us",
    ]


def _row(profile: Profile, kernel: KernelTime) -> list[str]:
    limits, us = profile.ceilings, kernel.time_us
    memory_us = kernel.memory_us(limits)
    arithmetic_us = kernel.arithmetic_us(limits, is_tf32=profile.is_tf32)
    return [
        kernel.name,
        kernel.impl,
        f"{kernel.grid} x {kernel.block}",
        number(us, 2),
        number(kernel.cost.bytes / 1e6, 3),
        number(kernel.cost.flops / 1e6, 2),
        number(kernel.cost.bytes / us / 1e3, 0),
        number(100 * memory_us / us, 1),
        number(kernel.cost.flops / us / 1e3, 0),
        number(100 * arithmetic_us / us, 1),
        number(max(memory_us, arithmetic_us), 2),
    ]


def profile_json(profile: Profile) -> dict[str, Any]:
    """The profile as JSON: `schema`, `version`, the fields of `Profile`, and `sum_us` and `gap_us`."""
    content = dataclasses.asdict(profile)
    return {
        "schema": "dlrmc-profile",
        "version": 1,
        **content,
        "sum_us": profile.sum_us,
        "gap_us": profile.gap_us,
    }
