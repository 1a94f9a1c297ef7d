"""Hardware counters of dlrmc's kernels by Nsight Compute, a line each: what bounds a kernel.

    python -m benchmarks.counters                                # the three largest cells of the seed sweep
    python -m benchmarks.counters --examples mlperf-2048,mlperf-2048-tf32

Examples are those of kernel_models.py. `ncu` needs permission to read counters (NVIDIA, ERR_NVGPUCTRPERM).
Clocks and caches are left as they are, so that a kernel finds what it finds in service: a full clock, and in
L2 what the launch before it has left there. A kernel is launched again for each group of counters.
"""

from __future__ import annotations

import argparse
import csv
import io
import shutil
import subprocess
import sys

from dlrmc.bench.text_table import table_lines

LARGEST = ("dlrm-32x2048", "dlrm-32x1024", "dlrm-16x2048")
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# Title, and metric of `ncu --query-metrics`; the last ones are warps that wait, a cycle that issues.
METRICS = (
    ("us", "gpu__time_duration.sum"),
    ("SM %", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("L2 %", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("DRAM %", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    ("DRAM MB", "dram__bytes.sum"),
    ("issue %", "smsp__issue_active.avg.pct_of_peak_sustained_active"),
    ("tensor %", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"),
    ("warps %", "sm__warps_active.avg.pct_of_peak_sustained_active"),
    ("long sb", _STALL.format("long_scoreboard")),
    ("short sb", _STALL.format("short_scoreboard")),
    ("barrier", _STALL.format("barrier")),
    ("wait", _STALL.format("wait")),
    ("mio", _STALL.format("mio_throttle")),
    ("math", _STALL.format("math_pipe_throttle")),
)
_SCALES = {"nsecond": 1e-3, "ns": 1e-3, "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3}
_SCALES |= {"byte": 1e-6, "Kbyte": 1e-3, "Mbyte": 1.0, "Gbyte": 1e3}


def main() -> None:
    """Profile each example and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", default=",".join(LARGEST))
    parser.add_argument("--limit", type=float, default=300.0, help="Seconds for one example.")
    given = parser.parse_args()
    if shutil.which("ncu") is None:
        sys.exit("ncu is not on the PATH; it comes with the CUDA toolkit")
    rows = [row for example in given.examples.split(",") for row in profile(example, given.limit)]
    for line in table_lines(["example", "kernel", *(title for title, _ in METRICS)], rows, left=2):
        print(line)


def profile(example: str, limit_s: float) -> list[list[str]]:
    """A row for each kernel of the last request."""
    command = [
        *("ncu", "--csv", "--kernel-name", "regex:^dlrmc_", "--graph-profiling", "node"),
        *("--clock-control", "none", "--cache-control", "none"),
        *("--metrics", ",".join(metric for _, metric in METRICS)),
        *(sys.executable, "-m", "benchmarks.kernel_models", example, "--calls", "2"),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        sys.exit(f"{example}: not done after {limit_s:.0f} s")
    lines = done.stdout.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith('"ID"')]
    if done.returncode != 0 or not starts:
        sys.exit(f"{example}: ncu failed\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return [[example, *row] for row in kernel_rows("\n".join(lines[starts[0] :]))]


def kernel_rows(text: str) -> list[list[str]]:
    """From ncu's CSV, a line a metric, to a line a kernel; of several launches the last."""
    values: dict[str, dict[str, str]] = {}
    for line in csv.DictReader(io.StringIO(text)):
        kernel = values.setdefault(line["Kernel Name"].partition("(")[0], {})
        kernel[line["Metric Name"]] = shown(line["Metric Value"], line["Metric Unit"])
    return [[name, *(found.get(metric, "") for _, metric in METRICS)] for name, found in values.items()]


def shown(value: str, unit: str) -> str:
    """Microseconds and megabytes whatever unit ncu has chosen; counts that it could not read as they are."""
    try:
        return f"{float(value.replace(',', '')) * _SCALES.get(unit, 1.0):.1f}"
    except ValueError:
        return value


if __name__ == "__main__":
    main()
