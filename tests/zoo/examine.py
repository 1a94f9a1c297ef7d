"""Compile one model whole and compare it with eager PyTorch."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from dlrmc.compile import build_program
from dlrmc.errors import UnsupportedOpsError
from dlrmc.frontend import ImportedProgram, import_program
from dlrmc.ir.strided import VIEW_OPS
from dlrmc.options import Options
from dlrmc.passes.pipeline import UNFUSED_PIPELINE
from dlrmc.runtime.compiled import Compiled
from tests.zoo.model import SMALL, Example, Sizes, ZooModel, on_device

# Twice the error of eager is allowed; where eager is exact by chance, some units in the last place are.
SLACK_ULPS = 4
# Eager is never so far off by rounding: float64 has taken another path, as where ids are divided as floats.
OTHER_PATH = 1e-3


@dataclass(frozen=True)
class Finding:
    """What became of one model.

    Args:
        model: its label.
        batch: the batch size.
        status: `equal`, `differs`, `unsupported`, `fails`; `eager fails` or `no export` where it is not
            dlrmc that cannot.
        ops: computing ops of the imported graph, about as many as the kernels that eager launches.
        unfused: launches with one kernel an op, after all other passes.
        kernels: launches.
        error: the largest error against float64 (against eager where there is no float64 result), relative to
            the largest magnitude of the result.
        eager_error: the same of eager in float32; None where there is no float64 result.
        seconds: for import, passes, codegen and build.
        detail: what failed, and the user's line.
    """

    model: str
    batch: int
    status: str
    ops: int = 0
    unfused: int = 0
    kernels: int = 0
    error: float | None = None
    eager_error: float | None = None
    seconds: float = 0.0
    detail: str = ""


def examine(entry: ZooModel, batch: int, target: str = "reference", sizes: Sizes = SMALL) -> Finding:
    """Export, compile whole and compare; failures are findings, not exceptions.

    On `cuda` eager runs on the GPU, too; otherwise the program with one kernel an op is compared as well, by
    `reference`.

    Raises:
        ImportError: the model's library is not installed.
    """
    example = entry.example(batch, sizes)
    example = on_device(example, "cuda") if target == "cuda" else example
    with quiet():
        program = _exported(entry, example, batch)
        if isinstance(program, Finding):
            return program
        start = time.perf_counter()
        try:
            imported = import_program(program)
            made = build_program(imported, Options.of(target=target, bounds="raise"))
            compiled = Compiled(made)
            seconds = time.perf_counter() - start
            found = compiled(*example.args, **example.kwargs)
        except Exception as error:
            return failure(entry, batch, error)
        ops = sum(n for name, n in made.imported_ops.items() if name not in VIEW_OPS)
        finding = Finding(entry.label, batch, "equal", ops, 0, len(made.plan.launches), seconds=seconds)
        finding = compared(finding, example, found)
        if finding.status != "equal" or target == "cuda":
            return finding
        return _with_unfused(finding, imported, example)


def _with_unfused(finding: Finding, imported: ImportedProgram, example: Example) -> Finding:
    """The finding with the launches of one kernel an op; theirs is the verdict where they differ."""
    made = build_program(imported, Options.of(target="reference", bounds="raise"), UNFUSED_PIPELINE)
    found = Compiled(made)(*example.args, **example.kwargs)
    finding = dataclasses.replace(finding, unfused=len(made.plan.launches))
    unfused = compared(finding, example, found)
    if unfused.status == "equal":
        return finding
    return dataclasses.replace(unfused, detail=f"one kernel an op: {unfused.detail}")


def failure(entry: ZooModel, batch: int, error: Exception) -> Finding:
    """The finding of a compile or a call that raised."""
    if not isinstance(error, UnsupportedOpsError):
        return Finding(entry.label, batch, "fails", detail=_first_line(error))
    items = dict.fromkeys(f"`{item.target}` at {item.source}: {item.reason}" for item in error.items)
    return Finding(entry.label, batch, "unsupported", detail="; ".join(items))


def _exported(entry: ZooModel, example: Example, batch: int) -> ExportedProgram | Finding:
    """The exported program, or the finding that there is none."""
    try:
        with torch.no_grad():
            example.model(*example.args, **example.kwargs)
    except Exception as error:
        return Finding(entry.label, batch, "eager fails", detail=_first_line(error))
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return torch.export.export(example.model, example.args, dict(example.kwargs))
    except Exception as error:
        return Finding(entry.label, batch, "no export", detail=_first_line(error))


def compared(finding: Finding, example: Example, found: Any) -> Finding:
    """The finding with its errors, and with its verdict by the rule of precision fp32."""
    with torch.no_grad():
        eager = example.model(*example.args, **example.kwargs)
    problem = _mismatch(found, eager)
    if problem:
        return dataclasses.replace(finding, status="differs", detail=problem)
    exact = in_float64(example)
    if exact is not None and _error(_floats(eager), _floats(exact)) > OTHER_PATH:
        exact = None
    truth = _floats(eager if exact is None else exact)
    error, eager_error = _error(_floats(found), truth), _error(_floats(eager), truth)
    allowed = 2 * eager_error + SLACK_ULPS * np.finfo(np.float32).eps
    if exact is None:
        # Two float32 results may each be off by a little.
        allowed = 1e-5
    status = "equal" if error <= allowed else "differs"
    detail = "" if status == "equal" else f"error {error:.3g}, allowed {allowed:.3g}"
    known = None if exact is None else eager_error
    return dataclasses.replace(finding, status=status, detail=detail, error=error, eager_error=known)


def _mismatch(found: Any, eager: Any) -> str:
    """How two results differ in structure, dtype, shape, or in values that are no floats; empty if not."""
    found_leaves, found_spec = pytree.tree_flatten(found)
    eager_leaves, eager_spec = pytree.tree_flatten(eager)
    if found_spec != eager_spec:
        return f"structure {found_spec}, eager {eager_spec}"
    for got, want in zip(found_leaves, eager_leaves, strict=True):
        if not isinstance(want, torch.Tensor):
            if got != want:
                return f"value {got!r}, eager {want!r}"
            continue
        if (got.dtype, got.shape) != (want.dtype, want.shape):
            return f"{got.dtype}{list(got.shape)}, eager {want.dtype}{list(want.shape)}"
        if not want.is_floating_point() and not torch.equal(got, want):
            return f"{int((got != want).sum())} of {want.numel()} values differ"
        if want.is_floating_point() and not torch.equal(got.isfinite(), want.isfinite()):
            return "infinities or NaNs where eager has none, or the other way round"
    return ""


def in_float64(example: Example) -> Any | None:
    """The model's results in float64, or None where its code asks for float32 by name."""
    wide = copy.deepcopy(example.model).double()
    args, kwargs = pytree.tree_map(_widened, (example.args, dict(example.kwargs)))
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            result = wide(*args, **kwargs)
    except RuntimeError:
        return None
    finally:
        torch.set_default_dtype(before)
    leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return result if all(leaf.dtype is not torch.float32 for leaf in leaves) else None


def _widened(leaf: Any) -> Any:
    is_float = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    return leaf.double() if is_float else leaf


def _floats(result: Any) -> list[torch.Tensor]:
    leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return [leaf.detach().double() for leaf in leaves if leaf.is_floating_point()]


def _error(found: Sequence[torch.Tensor], truth: Sequence[torch.Tensor]) -> float:
    """The largest error of any result, relative to the result's largest magnitude."""
    return max((_relative(*pair) for pair in zip(found, truth, strict=True)), default=0.0)


def _relative(found: torch.Tensor, truth: torch.Tensor) -> float:
    kept = truth.isfinite()
    if not kept.any():
        return 0.0
    difference = (found[kept] - truth[kept]).abs().max().item()
    return difference / max(truth[kept].abs().max().item(), 1e-30)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings of the libraries are not what is examined."""
    previous = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(previous)
