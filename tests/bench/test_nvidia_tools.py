"""What the scripts in benchmarks/ make of the output of NVIDIA's tools."""

from __future__ import annotations

import pytest

from benchmarks.counters import METRICS, kernel_rows
from benchmarks.sanitize_kernels import verdict

SCORED = "dlrm-2x2: largest difference from eager 0\n"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (SCORED + "========= ERROR SUMMARY: 0 errors\n", "clean: 0 errors; largest difference from eager 0"),
        (
            SCORED + "========= ERROR SUMMARY: 3 errors\n",
            "FOUND: 3 errors; largest difference from eager 0",
        ),
        (
            SCORED + "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 1 warnings)\n",
            "FOUND: 0 hazards displayed (0 errors, 1 warnings); largest difference from eager 0",
        ),
        ("========= ERROR SUMMARY: 0 errors\n", "not examined: ========= ERROR SUMMARY: 0 errors"),
        (SCORED, "not examined: dlrm-2x2: largest difference from eager 0"),
        ("", "not examined: no output"),
    ],
)
def test_a_tool_has_to_finish_and_to_find_nothing(log: str, expected: str) -> None:
    assert verdict(log, "dlrm-2x2") == expected


def test_counters_are_a_row_for_each_kernel() -> None:
    (_, time), (_, throughput), *_ = METRICS
    text = "\n".join(
        [
            '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"',
            f'"0","dlrmc_rows(long long)","{time}","nsecond","17,250"',
            f'"0","dlrmc_rows(long long)","{throughput}","%","41.26"',
            f'"1","dlrmc_linear_1","{time}","msecond","1.5"',
            f'"1","dlrmc_linear_1","{throughput}","%","n/a"',
        ]
    )
    first, second = kernel_rows(text)
    assert first[:3] == ["dlrmc_rows", "17.2", "41.3"]
    assert second[:3] == ["dlrmc_linear_1", "1500.0", "n/a"]
    assert len(first) == len(METRICS) + 1
