"""The golden programs: models, how they are exported, and requests that they must score."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.export import ExportedProgram

from dlrmc.errors import UnusedInputWarning
from dlrmc.frontend import import_program
from dlrmc.frontend.program import ImportedProgram
from tests.models import plain, variants
from tests.models.plain import PlainConfig

BATCH = 8
BAG = 2
# The model whose numbers this project is measured by; the other programs are smaller or differ in one thing.
CONFIG = replace(plain.SEED_CONFIG, rows=64)
SMALL = PlainConfig(rows=40, dim=6, dense_width=5, bottom=(12,), top=(10,))

Request = tuple[Any, ...]


@dataclass(frozen=True)
class Program:
    """One golden program.

    Args:
        model: makes the model, the same each time.
        request: makes the arguments of one request out of a seed; its bags are ragged and some empty.
        seed_request: the arguments of the seed sweep, where the model takes such.
        tolerance: largest absolute difference from eager.
    """

    model: Callable[[], nn.Module]
    request: Callable[[int], Request]
    seed_request: Callable[[], Request] | None = None
    tolerance: float = 1e-6


def _plain(config: PlainConfig, tolerance: float = 1e-6) -> Program:
    return Program(
        model=lambda: plain.build(config),
        request=lambda seed: _ragged(config, seed),
        seed_request=lambda: _seed_sweep(config),
        tolerance=tolerance,
    )


def _seed_sweep(config: PlainConfig) -> Request:
    dense, offsets, ids = plain.seed_inputs(config, BATCH, BAG)
    return dense.to(config.dtype), offsets, ids


def _dense(config: PlainConfig, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, config.dense_width, generator=generator).to(config.dtype)


def _ragged(config: PlainConfig, seed: int) -> Request:
    """Bags of different lengths, some of them empty, the last one too."""
    random = np.random.default_rng(seed)
    count = BATCH * BAG
    ids = [torch.from_numpy(random.integers(0, config.rows, count)) for _ in range(config.num_cat)]
    offsets = []
    for _ in range(config.num_cat):
        begins = np.sort(random.integers(0, count + 1, BATCH))
        begins[0], begins[-1] = 0, count
        offsets.append(torch.from_numpy(begins))
    return _dense(config, seed), offsets, ids


def _stacked(seed: int) -> Request:
    random = np.random.default_rng(seed)
    ids = random.integers(0, SMALL.num_cat * SMALL.rows, BATCH * SMALL.num_cat * BAG)
    return _dense(SMALL, seed), torch.from_numpy(ids)


def _stacked_model() -> nn.Module:
    torch.manual_seed(0)
    return plain.StackedTableDlrm(SMALL, BAG).eval()


def _mlp_model() -> nn.Module:
    torch.manual_seed(0)
    return variants.score_mlp(SMALL.dense_width)


PROGRAMS = MappingProxyType(
    {
        "plain": _plain(CONFIG),
        "wide": _plain(replace(CONFIG, num_cat=32)),
        "stacked_table": Program(_stacked_model, _stacked),
        "diagonal": _plain(replace(SMALL, interaction="dot_diag")),
        "upper": _plain(replace(SMALL, interaction="upper")),
        "cat": _plain(replace(SMALL, interaction="cat")),
        "bf16": _plain(replace(SMALL, dtype=torch.bfloat16), tolerance=2e-2),
        "mlp": Program(_mlp_model, lambda seed: (_dense(SMALL, seed),)),
        "two_results": Program(
            lambda: variants.build(variants.TwoResults, SMALL), lambda seed: _ragged(SMALL, seed)
        ),
        "unused_input": Program(
            lambda: variants.build(variants.UnusedInput, SMALL),
            lambda seed: (*_ragged(SMALL, seed), torch.ones(BATCH)),
        ),
    }
)


@cache
def model(name: str) -> nn.Module:
    """The model of a program."""
    return PROGRAMS[name].model()


@cache
def exported(name: str, form: str = "undecomposed") -> ExportedProgram:
    """A program in one of `plain.FORMS`."""
    return plain.export(model(name), PROGRAMS[name].request(0), form=form)


@cache
def imported(name: str, form: str = "undecomposed") -> ImportedProgram:
    """A program after the import stage; its graph must be copied before it is changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedInputWarning)  # it is kept in the program's own list
        return import_program(exported(name, form), name=name)


def requests(name: str) -> dict[str, Request]:
    """Arguments of several requests, by what they are."""
    program = PROGRAMS[name]
    made = {f"ragged {seed}": program.request(seed) for seed in (1, 2)}
    if program.seed_request is not None:
        made["the seed sweep"] = program.seed_request()
    return made
