from __future__ import annotations

import json
from typing import Any

import pytest
import torch

import dlrmc
from dlrmc.bench.ceilings import Ceilings, measure_ceilings
from dlrmc.bench.profile import REPEATS, Profile, measure_profile, profile_json, profile_lines
from dlrmc.errors import OptionError
from dlrmc.ir.parser import parse_graph
from dlrmc.runtime.kernel_timing import RepeatedKernel, repeated_kernels
from dlrmc.schedule.cost import Cost
from tests.bench.fake_bench import FakeTimer

CEILINGS = Ceilings(4000.0, 8000.0, 50.0, 400.0, 1.3)
TEXT = """graph @g {
  input %x : f32[1000,100]
  weight %w : f32[100,100] = "w"
  %a = kernel linear(%x, %w) {
    %a = linear(%x, %w) : f32[1000,100]
    yield %a
  } : f32[1000,100]
  return %a
}
"""


def profiled(kernel_us: float, whole_us: float, **options: Any) -> Profile:
    """Two kernels of `kernel_us` and a request of `whole_us`, on a clock that does as it is told."""
    timer = FakeTimer()
    node = parse_graph(TEXT).find("a")
    kernels = [
        RepeatedKernel(name, node, 7, 128, lambda: timer.spend(kernel_us * REPEATS), (), ())
        for name in ("dlrmc_a", "dlrmc_b")
    ]
    return measure_profile(kernels, lambda: timer.spend(whole_us), timer, CEILINGS, **options)


def test_times_sum_and_gap() -> None:
    profile = profiled(5.0, 12.0)
    assert [kernel.time_us for kernel in profile.kernels] == [5.0, 5.0]
    assert (profile.sum_us, profile.whole_us, profile.gap_us) == (10.0, 12.0, 2.0)
    assert profiled(5.0, 8.0).gap_us == -2.0


def test_work_is_held_against_the_measured_limits() -> None:
    kernel = profiled(5.0, 12.0).kernels[0]
    assert kernel.cost == Cost(4 * (100_000 + 10_000), 400_000, 10_000_000, 0)
    assert kernel.memory_us(CEILINGS) == pytest.approx(0.84e6 / 4000e9 * 1e6)
    assert kernel.arithmetic_us(CEILINGS, is_tf32=False) == pytest.approx(20e6 / 50e12 * 1e6)
    assert kernel.arithmetic_us(CEILINGS, is_tf32=True) == pytest.approx(20e6 / 400e12 * 1e6)
    assert kernel.floor_us(CEILINGS, is_tf32=False) == pytest.approx(0.4)
    assert kernel.floor_us(CEILINGS, is_tf32=True) == pytest.approx(0.21)


def test_the_table() -> None:
    lines = profile_lines(profiled(5.0, 12.0))
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert cells == [
        *("dlrmc_a", "linear", "7 x 128", "5.00", "0.840", "20.00"),
        *("168", "4.2", "4000", "8.0", "0.40"),
    ]
    assert "kernels 10.00 us, whole request 12.00 us, gap +2.00 us" in lines
    assert "least work 1.680 MB, 20.000 M multiply-adds" in lines


def test_json_can_be_written() -> None:
    content = json.loads(json.dumps(profile_json(profiled(5.0, 12.0))))
    assert (content["schema"], content["version"], content["gap_us"]) == ("dlrmc-profile", 1, 2.0)
    assert content["kernels"][0]["cost"]["multiply_adds"] == 10_000_000
    assert content["ceilings"]["copy_gb_s"] == 4000.0


def test_only_the_target_cuda_has_kernels_to_time() -> None:
    model, inputs = torch.nn.Linear(3, 2).eval(), (torch.ones(4, 3),)
    compiled = dlrmc.compile(torch.export.export(model, inputs), target="reference")
    with pytest.raises(OptionError, match="target reference: no GPU to time"):
        repeated_kernels(compiled, inputs, {}, 3)


def test_limits_are_computed_from_sizes_and_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlrmc.bench.ceilings._COPY_BYTES", 1 << 10)
    monkeypatch.setattr("dlrmc.bench.ceilings._CACHED_BYTES", 1 << 8)
    monkeypatch.setattr("dlrmc.bench.ceilings._MATRIX", 16)

    class SteadyTimer(FakeTimer):
        """Says two microseconds for everything."""

        def elapsed_us(self, start: Any, end: Any) -> float:
            return 2.0

    limits = measure_ceilings(torch.device("cpu"), SteadyTimer())
    assert limits.copy_gb_s == pytest.approx(2 * 1024 / 2e-6 / 1e9)
    assert limits.cached_copy_gb_s == pytest.approx(2 * 256 * 50 / 2e-6 / 1e9)
    assert limits.fp32_tflop_s == limits.tf32_tflop_s == pytest.approx(2 * 16**3 / 2e-6 / 1e12)
    assert limits.small_kernel_us == pytest.approx(2 / 50)
