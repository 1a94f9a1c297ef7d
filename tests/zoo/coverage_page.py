"""The text of docs/coverage.md: which model classes compile, and into what."""

from __future__ import annotations

from collections.abc import Sequence

from tests.zoo.catalogue import MODELS
from tests.zoo.examine import Finding

NOT_OURS = ("no export", "eager fails")
HEAD = "| model | ops | kernels, one an op | kernels | error | eager's error | |"

_TEXT = """\
# Coverage

Made by `make coverage`; do not edit.

{summary}

Ops are the computing ops of the imported program, about as many as the kernels that eager launches. Kernels
are what one request launches: with one kernel an op after all other passes, and as compiled. Errors are the
largest against float64, relative to the result's largest magnitude; `equal` is at most twice eager's error.
A dash: the model's code has float32 written into it, so that there is no float64 result, and the error is to
eager. Sizes are small (`tests/zoo/model.py`); run on the `{target}` target with batch {batches}.
"""


def document(findings: Sequence[Finding], target: str) -> str:
    """The page of a census."""
    batches = ", ".join(str(batch) for batch in sorted({finding.batch for finding in findings}))
    text = _TEXT.format(summary=_wrapped_summary(findings), target=target, batches=batches)
    bad = [finding for finding in findings if finding.status != "equal"]
    exceptions = ["## Exceptions", "", *(f"- **{f.model}**: {f.status}. {f.detail}" for f in bad)]
    table = ["## Models", "", HEAD, f"|{'---|' * (HEAD.count('|') - 1)}", *map(_row, findings)]
    return "\n".join([text, *exceptions, "", *table]) + "\n"


def summary(findings: Sequence[Finding]) -> str:
    """How many models, and how many classes, came out equal."""
    kinds = {model.label: f"{model.library}/{model.kind}" for model in MODELS}
    exporting = [finding for finding in findings if finding.status not in NOT_OURS]
    equal = [finding for finding in exporting if finding.status == "equal"]
    classes = {kinds[finding.model] for finding in exporting}
    whole = classes - {kinds[finding.model] for finding in exporting if finding.status != "equal"}
    return (
        f"{len(equal)} of {len(exporting)} exporting configurations, {len(whole)} of {len(classes)} classes "
        f"compile whole and equal eager; {len(findings) - len(exporting)} configurations do not export"
    )


def _wrapped_summary(findings: Sequence[Finding]) -> str:
    lines = [f"{summary(findings)}. By library:", ""]
    libraries = dict.fromkeys(finding.model.split("/")[0] for finding in findings)
    for library in libraries:
        own = [finding for finding in findings if finding.model.startswith(f"{library}/")]
        lines.append(f"- {library}: {summary(own)}")
    return "\n".join(lines)


def number(value: float | None) -> str:
    """An error, or a dash where there is none."""
    return "-" if value is None else f"{value:.1e}"


def _row(finding: Finding) -> str:
    known = finding.error is not None
    sizes = (str(finding.ops), str(finding.unfused), str(finding.kernels)) if known else ("", "", "")
    errors = (number(finding.error), number(finding.eager_error)) if known else ("", "")
    return f"| {' | '.join((finding.model, *sizes, *errors, finding.status))} |"


def statuses(page: str) -> dict[str, str]:
    """The status of each model of a page."""
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return {cells[0]: cells[-1] for cells in rows[1:]}
