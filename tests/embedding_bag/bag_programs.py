"""Models of embedding bags, exported once and compiled by each pipeline for each target."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

import dlrmc
from dlrmc.passes.pipeline import PIPELINE, UNFUSED_PIPELINE
from dlrmc.runtime.compiled import Compiled
from tests.embedding_bag.bag_cases import CASES, BagCase

# "fused" has row programs, "unfused" one kernel a group of bags, "alone" one kernel a bag.
PIPELINES = {
    "fused": PIPELINE,
    "unfused": UNFUSED_PIPELINE,
    "alone": tuple(each for each in UNFUSED_PIPELINE if each.name != "group-embeddings"),
}


class Bags(nn.Module):
    """Every case's bags and their negatives, so that there is something to fuse them with."""

    def __init__(self, cases: Mapping[str, BagCase]) -> None:
        super().__init__()
        self.cases = dict(cases)
        for name, case in cases.items():
            self.register_buffer(name, case.table)

    def forward(self, requests: dict[str, dict[str, torch.Tensor]]) -> dict[str, Any]:
        results: dict[str, Any] = {}
        for name, case in self.cases.items():
            bags = case.call(getattr(self, name), requests[name])
            results[name] = (bags, -bags)
        return results


def families() -> dict[int, dict[str, BagCase]]:
    """The cases by number of bags: those of one family are fused into one kernel."""
    found: dict[int, dict[str, BagCase]] = {}
    for name, case in CASES.items():
        found.setdefault(case.bags, {})[name] = case
    return found


@functools.cache
def exported(bags: int) -> torch.export.ExportedProgram:
    """One family's program."""
    cases = families()[bags]
    requests = {name: case.inputs for name, case in cases.items()}
    return torch.export.export(Bags(cases).eval(), (requests,))


def compile_with(pipeline: str, program: torch.export.ExportedProgram, **options: Any) -> Compiled:
    """`dlrmc.compile` with another list of passes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[dlrmc.compile.__module__], "PIPELINE", PIPELINES[pipeline])
        return dlrmc.compile(program, **options)


def on_device(case: BagCase, device: str) -> BagCase:
    """The case with its table on the device."""
    return replace(case, table=case.table.to(device))


def run_family(bags: int, target: str, pipeline: str) -> tuple[Compiled, dict[str, Any]]:
    """The results of all cases of a family."""
    compiled = compile_with(pipeline, exported(bags), target=target, bounds="raise")
    requests = {name: case.inputs for name, case in families()[bags].items()}
    return compiled, compiled(requests)
