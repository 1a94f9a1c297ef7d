"""Large products with a tile of the test's choice, and their cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlrmc.codegen.emit import emit_module
from dlrmc.codegen.kernels import linear
from dlrmc.codegen.kernels.linear_tile import LinearTile
from dlrmc.codegen.source import ModuleSource
from dlrmc.emulator.module import EmulatedModule
from dlrmc.ir.types import DType
from dlrmc.schedule.limits import DeviceLimits
from tests.codegen.anchor_cases import product_tolerance, random_array
from tests.codegen.kernel_cases import Built, Case, case_of_op, plan_of


def emit_with(cases: Sequence[Case], tile: LinearTile, precision: str = "fp32") -> ModuleSource:
    """The source of the cases, every linear with this tile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "choose_tile", lambda *_, **__: tile)
        return emit_module(plan_of(cases), DeviceLimits(), precision=precision)


def build_with(
    cases: Sequence[Case],
    tile: LinearTile,
    cache_dir: Path,
    precision: str = "fp32",
    *,
    sanitize: bool = False,
) -> Built:
    """The same, emulated."""
    source = emit_with(cases, tile, precision)
    kernels = [(kernel.name, len(kernel.params)) for kernel in source.kernels]
    module = EmulatedModule.build(source.text, kernels, cache_dir=cache_dir, sanitize=sanitize)
    return Built(tuple(cases), source, module)


def linear_case(rows: int, n: int, widths: Sequence[int], *, bias: bool = True, **options: Any) -> Case:
    """A linear of random x in parts of these widths; options are its attributes, and those of Case."""
    rng = np.random.default_rng(rows * n + sum(widths))
    parts = tuple(random_array(rng, DType.F32, rows, width) for width in widths)
    weight = random_array(rng, DType.F32, n, sum(widths))
    attributes = {name: options.pop(name) for name in ("act", "alpha", "beta", "slope") if name in options}
    operands = (parts, weight, random_array(rng, DType.F32, n) if bias else None)
    tolerance = product_tolerance(DType.F32, sum(widths))
    return case_of_op("linear", operands, attributes, impl="linear", tolerance=tolerance, **options)
