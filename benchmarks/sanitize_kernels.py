"""dlrmc's kernels on a GPU under compute-sanitizer: memcheck, racecheck, synccheck and initcheck.

    python -m benchmarks.sanitize_kernels                                # all tools, small examples
    python -m benchmarks.sanitize_kernels --tools memcheck --examples mlperf-2048

Examples are those of kernel_models.py. Only kernels whose names begin with dlrmc_ are watched. torch's
allocator does not cache, so that each tensor is an allocation of its own and a write past its end is seen.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.kernel_models import EXAMPLES

SMALL = (
    "dlrm-2x2",
    "dlrm-8x64",
    "dlrm-8x67-ragged",
    "dlrm-32x130",
    "dlrm-32x130-tf32",
    "cross-77",
    "kaggle-128",
    "mlperf-64",
    "mlperf-64-tf32",
)
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
_SUMMARY = re.compile(r"(ERROR|RACECHECK) SUMMARY: (.*)")


def main() -> None:
    """Run each tool on each example; the exit code says whether all are clean."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--examples", default=",".join(SMALL))
    parser.add_argument("--jobs", type=int, default=4, help="Runs at a time.")
    parser.add_argument("--limit", type=float, default=300.0, help="Seconds for one run.")
    parser.add_argument("--logs", type=Path, help="Keep what the tools print in this folder.")
    given = parser.parse_args()
    if shutil.which("compute-sanitizer") is None:
        sys.exit("compute-sanitizer is not on the PATH; it comes with the CUDA toolkit")
    examples = given.examples.split(",")
    if unknown := [example for example in examples if example not in EXAMPLES]:
        sys.exit(f"no example {unknown[0]!r}; there are {', '.join(EXAMPLES)}")
    runs = [(tool, example) for tool in given.tools.split(",") for example in examples]
    with ThreadPoolExecutor(given.jobs) as pool:
        results = pool.map(lambda run: report(*run, given.limit, given.logs), runs)
        sys.exit(0 if all([*results]) else 1)


def report(tool: str, example: str, limit_s: float, logs: Path | None) -> bool:
    """Run a tool on an example, print a line, and say whether it is clean."""
    start = time.perf_counter()
    result, log = sanitize(tool, example, limit_s)
    print(f"{tool:>10} {example:20} {time.perf_counter() - start:6.1f} s  {result}", flush=True)
    if logs is not None:
        logs.mkdir(parents=True, exist_ok=True)
        (logs / f"{tool}-{example}.txt").write_text(log, encoding="utf-8")
    return result.startswith("clean")


def sanitize(tool: str, example: str, limit_s: float) -> tuple[str, str]:
    """What a tool finds in an example, in one line, and all that it printed."""
    command = [
        *("compute-sanitizer", "--tool", tool, "--kernel-name", "kernel_substring=dlrmc_"),
        *(sys.executable, "-m", "benchmarks.kernel_models", example, "--calls", "2"),
    ]
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done after {limit_s:.0f} s", ""
    log = done.stdout + done.stderr
    return verdict(log, example), log


def verdict(log: str, example: str) -> str:
    """Clean, or what is wrong: the tool's summary, or that the example did not get to its end."""
    found = _SUMMARY.search(log)
    scored = re.search(rf"{re.escape(example)}: (.*)", log)
    if found is None or scored is None:
        lines = [line for line in log.splitlines() if line.strip()]
        return f"not examined: {lines[-1] if lines else 'no output'}"
    counts = [int(number) for number in re.findall(r"\d+", found.group(2))]
    state = "clean" if not any(counts) else "FOUND"
    return f"{state}: {found.group(2)}; {scored.group(1)}"


if __name__ == "__main__":
    main()
