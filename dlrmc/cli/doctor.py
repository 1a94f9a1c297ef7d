"""`dlrmc doctor`: what this machine has, what is missing, and the exact command that mends it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from dlrmc.cli.checks import TARGETS, Check, missing_for, run_checks
from dlrmc.cli.sources import STANDARD, write_text
from dlrmc.options import Options


class Target(StrEnum):
    """A target that a script may insist on."""

    CUDA = "cuda"
    EMULATE = "emulate"
    REFERENCE = "reference"


def doctor(
    target: Annotated[
        Target | None, typer.Option(help="Exit with 1 unless this target works on this machine.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say what this machine has, what is missing and what mends it.

    Looks at the GPU and its driver, cupy, NVRTC, the C++ compiler and the cache folder.
    """
    checks = run_checks(Options.from_environment().cache_dir)
    wanted = (target.value,) if target else ("reference",)
    if as_json:
        write_text(STANDARD, findings_json(checks) + "\n")
    else:
        print_findings(checks)
    if any(missing_for(name, checks) for name in wanted):
        raise typer.Exit(1)


def findings_json(checks: Sequence[Check]) -> str:
    """The findings as one JSON object: the checks, and whether each target works."""
    value = {
        "checks": [dataclasses.asdict(check) for check in checks],
        "targets": {target: not missing_for(target, checks) for target in TARGETS},
    }
    return json.dumps(value, indent=1)


def print_findings(checks: Sequence[Check]) -> None:
    """The findings as a table, then the targets and the commands."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table.grid(padding=(0, 2))
    for check in checks:
        mark = "[green]ok[/]" if check.works else "[yellow]missing[/]"
        table.add_row(mark, check.name, check.detail)
    console.print(table)
    console.print()
    works = [target for target in TARGETS if not missing_for(target, checks)]
    for target in TARGETS:
        lacking = ", ".join(check.name for check in missing_for(target, checks))
        console.print(f"target {target}: " + (f"needs {lacking}" if lacking else "works"), markup=False)
    if works:
        console.print(f"the default on this machine is {works[0]}")
    lacking_checks = [check for check in checks if not check.works and check.mend]
    if lacking_checks:
        console.print("\nto mend:")
    for check in lacking_checks:
        console.print(f"  {check.name}: {check.mend}", markup=False, soft_wrap=True)
