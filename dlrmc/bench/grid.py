"""From options to the cells of a sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import product

from dlrmc.bench.presets import PRESET_BATCHES, PRESETS, SEED_BATCHES, SEED_TABLES
from dlrmc.bench.tasks import Task
from dlrmc.bench.work import CompileOptions
from dlrmc.bench.workload import Cell
from dlrmc.errors import OptionError

SIZES = ("num_cat", "batch", "dim", "bag", "rows", "dense")
PRECISIONS = ("fp32", "tf32")


def parse_sizes(option: str, text: str) -> tuple[int, ...]:
    """Whole numbers above zero, separated by commas.

    Raises:
        OptionError: it is something else.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise OptionError(
            f"option {option}", found=repr(text), expected="whole numbers above zero, as 2,8,32"
        )
    return tuple(int(part) for part in parts)


def check_precision(precision: str) -> None:
    """Refuse what is no precision of a benchmark.

    Raises:
        OptionError: it is not of `PRECISIONS`.
    """
    if precision not in PRECISIONS:
        raise OptionError("option --precision", found=precision, expected="one of " + ", ".join(PRECISIONS))


def make_tasks(
    preset: str,
    sizes: Mapping[str, str | None],
    *,
    precisions: str = "fp32",
    tune: str = "off",
    cold: bool = False,
) -> tuple[Task, ...]:
    """The cells of all combinations of sizes, in each precision; the largest size varies slowest.

    Args:
        preset: a name of `PRESETS`, which gives the sizes that are not said.
        sizes: lists of numbers as text for each of `SIZES`, and one for `bottom` and `top`; None is not said.
        precisions: of `PRECISIONS`, separated by commas.
        tune: passed on to dlrmc.
        cold: as `CompileOptions.cold`.

    Raises:
        OptionError: a name or a number is not understood.
    """
    if preset not in PRESETS:
        raise OptionError("option --preset", found=preset, expected="one of " + ", ".join(PRESETS))
    chosen = [name.strip() for name in precisions.split(",")]
    if unknown := [name for name in chosen if name not in PRECISIONS]:
        raise OptionError("option --precision", found=unknown[0], expected="of " + ", ".join(PRECISIONS))
    base = _with_layers(PRESETS[preset], sizes)
    axes = [_axis(preset, base, name, sizes.get(name)) for name in SIZES]
    cells = [dataclasses.replace(base, **dict(zip(SIZES, each, strict=True))) for each in product(*axes)]
    model = "dlrm" if preset == "seed" else preset
    return tuple(
        Task(cell, CompileOptions(precision, tune, cold), model) for cell in cells for precision in chosen
    )


def _with_layers(base: Cell, sizes: Mapping[str, str | None]) -> Cell:
    layers = {name: parse_sizes(f"--{name}", text) for name in ("bottom", "top") if (text := sizes.get(name))}
    return dataclasses.replace(base, **layers)


def _axis(preset: str, base: Cell, name: str, text: str | None) -> Sequence[int]:
    if text is not None:
        return parse_sizes(f"--{name.replace('_', '-')}", text)
    if name == "num_cat" and preset == "seed":
        return SEED_TABLES
    if name == "batch":
        return SEED_BATCHES if preset == "seed" else PRESET_BATCHES
    return (getattr(base, name),)
