"""Whether a variant computes the right scores, and how far it is from float64 and from eager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import torch

from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import Work
from dlrmc.errors import DlrmcError

# Far above rounding and far below what a wrong id, a stale input or a missing term gives.
_TOLERANCE: Final[Mapping[str, float]] = MappingProxyType({"fp32": 1e-4, "tf32": 2e-2, "bf16": 1e-1})


class WrongResultError(DlrmcError):
    """A variant gave scores that are not the model's."""


@dataclass(frozen=True)
class Errors:
    """Largest errors over all requests; the first two are None where float64 results are not known."""

    max_abs: float | None
    max_rel: float | None
    eager_abs: float


def check(work: Work, runner: Runner) -> Errors:
    """Run every request, and leave the first one loaded.

    Raises:
        WrongResultError: a result has another shape, is not finite where eager's is, or is far off.
    """
    eager_values = work.eager_values
    found: list[Errors] = []
    for request, expected in reversed([*zip(work.requests, eager_values, strict=True)]):
        work.load(request)
        runner.refresh()
        results = runner.read(runner.call())
        found.append(_compared(request.name, results, expected, request.exact))
    errors = Errors(
        _largest([each.max_abs for each in found]),
        _largest([each.max_rel for each in found]),
        max(each.eager_abs for each in found),
    )
    error = errors.eager_abs if errors.max_abs is None else max(errors.max_abs, errors.eager_abs)
    if not error <= _TOLERANCE[work.options.precision]:
        raise WrongResultError(
            "wrong scores",
            found=f"off by {error:.3g} ({errors.eager_abs:.3g} from eager)",
            expected=f"at most {_TOLERANCE[work.options.precision]:g}",
        )
    return errors


def _compared(
    place: str,
    results: tuple[torch.Tensor, ...],
    eager: tuple[torch.Tensor, ...],
    exact: tuple[torch.Tensor, ...],
) -> Errors:
    shapes = [tuple(result.shape) for result in results]
    expected = [tuple(value.shape) for value in eager]
    if shapes != expected:
        raise WrongResultError(place, found=f"results of shapes {shapes}", expected=str(expected))
    eager_abs = max((_abs_error(*pair) for pair in zip(results, eager, strict=True)), default=0.0)
    if not exact:
        return Errors(None, None, eager_abs)
    kept = [result[: len(truth)] for result, truth in zip(results, exact, strict=True)]
    return Errors(
        max(_abs_error(*pair) for pair in zip(kept, exact, strict=True)),
        max(_rel_error(*pair) for pair in zip(kept, exact, strict=True)),
        eager_abs,
    )


def _abs_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest absolute difference; NaN where one of them is not finite and the other differs."""
    one, other = found.double(), expected.double()
    difference = torch.where(one == other, 0.0, (one - other).abs())
    return difference.max().item() if difference.numel() else 0.0


def _rel_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    difference = (found.double() - expected.double()).abs() / expected.double().abs().clamp_min(1e-30)
    return difference.max().item() if difference.numel() else 0.0


def _largest(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None
