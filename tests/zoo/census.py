"""Examine the zoo and write docs/coverage.md: `python -m tests.zoo.census --out docs/coverage.md`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.zoo.catalogue import is_installed, select
from tests.zoo.coverage_page import document, number, summary
from tests.zoo.examine import Finding, examine
from tests.zoo.model import REAL, SMALL, Sizes

SETTLED = ("equal", "no export", "eager fails")


def census(tasks: Sequence[tuple[str, int]], target: str, sizes: Sizes, jobs: int) -> Iterator[Finding]:
    """A finding for each model and batch size, in order, as soon as it is known."""
    run = partial(_examine, target=target, sizes=sizes)
    if jobs == 1:
        yield from map(run, tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run, tasks)


def _examine(task: tuple[str, int], *, target: str, sizes: Sizes) -> Finding:
    label, batch = task
    [model] = [each for each in select([label]) if each.label == label]
    return examine(model, batch, target, sizes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the census; the exit status is 1 where a model that exports does not come out equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", help="parts of model names; all models by default")
    parser.add_argument("--batch", type=int, action="append", help="batch size (default 4); may be repeated")
    parser.add_argument("--target", default="reference", help="reference, emulate or cuda")
    parser.add_argument("--real", action="store_true", help="at real sizes, not small ones")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="write the table here")
    options = parser.parse_args(arguments)
    labels = [model.label for model in select(options.patterns) if is_installed(model.library)]
    findings: list[Finding] = []
    tasks = [(label, batch) for label in labels for batch in options.batch or [4]]
    sizes = REAL if options.real else SMALL
    for finding in census(tasks, options.target, sizes, options.jobs):
        findings.append(finding)
        sys.stdout.write(f"{_line(finding)}\n")
        sys.stdout.flush()
    if options.out is not None:
        options.out.write_text(document(findings, options.target), encoding="utf-8")
    sys.stdout.write(f"{summary(findings)}\n")
    return 0 if all(finding.status in SETTLED for finding in findings) else 1


def _line(finding: Finding) -> str:
    sizes = f"{finding.ops} ops, {finding.unfused} kernels, {finding.kernels} fused" if finding.ops else ""
    error = (
        ""
        if finding.error is None
        else f"error {number(finding.error)} (eager {number(finding.eager_error)})"
    )
    cells = (f"{finding.model} B={finding.batch}", finding.status, sizes, error, f"{finding.seconds:.1f} s")
    return "  ".join([*filter(None, cells), finding.detail])


if __name__ == "__main__":
    sys.exit(main())
