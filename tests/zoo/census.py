"""Examine the zoo and write docs/coverage.md: `python -m tests.zoo.census --out docs/coverage.md`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.zoo.catalogue import MODELS, is_installed, select
from tests.zoo.examine import Finding, examine
from tests.zoo.model import ZooModel


def census(models: Iterable[ZooModel], batches: Sequence[int], target: str) -> Iterator[Finding]:
    """A finding for each model and batch size, as soon as it is known."""
    for model in models:
        if is_installed(model.library):
            for batch in batches:
                yield examine(model, batch, target)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the census; the exit status is 1 where a model that exports does not come out equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", help="parts of model names; all models by default")
    parser.add_argument("--batch", type=int, action="append", help="batch size (default 4); may be repeated")
    parser.add_argument("--target", default="reference", help="reference, emulate or cuda")
    parser.add_argument("--out", type=Path, help="write the table here")
    options = parser.parse_args(arguments)
    findings: list[Finding] = []
    for finding in census(select(options.patterns), options.batch or [4], options.target):
        findings.append(finding)
        sys.stdout.write(f"{_line(finding)}\n")
        sys.stdout.flush()
    if options.out is not None:
        options.out.write_text(document(findings), encoding="utf-8")
    sys.stdout.write(f"{summary(findings)}\n")
    return 0 if all(finding.status in ("equal", "no export") for finding in findings) else 1


def _line(finding: Finding) -> str:
    sizes = f"{finding.ops} ops, {finding.kernels} kernels" if finding.ops else ""
    error = (
        ""
        if finding.error is None
        else f"error {_number(finding.error)} (eager {_number(finding.eager_error)})"
    )
    cells = (f"{finding.model} B={finding.batch}", finding.status, sizes, error, f"{finding.seconds:.1f} s")
    return "  ".join([*filter(None, cells), finding.detail])


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.1e}"


def summary(findings: Sequence[Finding]) -> str:
    """How many models, and how many classes, came out equal."""
    kinds = {model.label: f"{model.library}/{model.kind}" for model in MODELS}
    exporting = [finding for finding in findings if finding.status != "no export"]
    equal = [finding for finding in exporting if finding.status == "equal"]
    classes = {kinds[finding.model] for finding in exporting}
    whole = classes - {kinds[finding.model] for finding in exporting if finding.status != "equal"}
    return (
        f"{len(equal)} of {len(exporting)} exporting configurations, {len(whole)} of {len(classes)} classes "
        f"compile whole and equal eager; {len(findings) - len(exporting)} do not export"
    )


def document(findings: Sequence[Finding]) -> str:
    """The text of docs/coverage.md."""
    batches = ", ".join(str(batch) for batch in sorted({finding.batch for finding in findings}))
    lines = [
        "# Coverage",
        "",
        "Made by `python -m tests.zoo.census --out docs/coverage.md`; do not edit.",
        "",
        f"Batch {batches}. {summary(findings)}.",
        "",
        "Ops are the computing ops of the imported program, about as many as the kernels that eager",
        "launches; kernels are what one request launches after the passes. Errors are the largest against",
        "float64, relative to the largest magnitude; equal means at most twice the error of eager. A dash:",
        "the model's code has float32 written into it, so there is no float64 result: the error is to eager.",
        "",
        "| model | batch | ops | kernels | error | eager's error | |",
        "|---|---|---|---|---|---|---|",
        *(_row(finding) for finding in findings),
    ]
    return "\n".join(lines) + "\n"


def _row(finding: Finding) -> str:
    known = finding.error is not None
    cells = (
        finding.model,
        str(finding.batch),
        str(finding.ops) if known else "",
        str(finding.kernels) if known else "",
        f"{finding.error:.1e}" if finding.error is not None else "",
        (_number(finding.eager_error) if finding.eager_error is not None else "-") if known else "",
        finding.status if not finding.detail else f"{finding.status}: {finding.detail}".replace("|", "\\|"),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
