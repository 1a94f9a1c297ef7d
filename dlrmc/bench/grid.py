"""From options to the cells of a sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
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
    presets: str,
    sizes: Mapping[str, str | None],
    *,
    precisions: str = "fp32",
    tune: str = "off",
    cold: bool = False,
) -> tuple[Task, ...]:
    """The cells of all combinations of sizes for each preset, in each precision; tables vary slowest.

    Args:
        presets: names of `PRESETS`, separated by commas; each gives the sizes that are not said.
        sizes: lists of numbers as text for each of `SIZES`, and one for `bottom` and `top`; None is not said.
        precisions: of `PRECISIONS`, separated by commas.
        tune: passed on to dlrmc.
        cold: as `CompileOptions.cold`.

    Raises:
        OptionError: a name or a number is not understood.
    """
    chosen = _names("--precision", precisions, PRECISIONS)
    return tuple(
        Task(cell, CompileOptions(precision, tune, cold), "dlrm" if preset == "seed" else preset)
        for preset in _names("--preset", presets, PRESETS)
        for cell in _cells(preset, sizes)
        for precision in chosen
    )


def _names(option: str, text: str, known: Collection[str]) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise OptionError(f"option {option}", found=name, expected="of " + ", ".join(known))
    return names


def _cells(preset: str, sizes: Mapping[str, str | None]) -> list[Cell]:
    base = _with_layers(PRESETS[preset], sizes)
    axes = [_axis(preset, base, name, sizes.get(name)) for name in SIZES]
    return [dataclasses.replace(base, **dict(zip(SIZES, each, strict=True))) for each in product(*axes)]


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
