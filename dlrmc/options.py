"""The compiler's options.

Keyword arguments, command line flags and DLRMC_* variables become `Options` here and only here.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from dlrmc.errors import OptionError

ENVIRONMENT_PREFIX: Final = "DLRMC_"

CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "target": ("auto", "cuda", "emulate", "reference"),
        "precision": ("fp32", "tf32", "bf16"),
        "bounds": ("deferred", "raise", "ignore"),
        "tune": ("off", "fast", "full"),
    }
)
_FLAGS: Final[Mapping[str, bool]] = MappingProxyType(
    {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
)
_ARCHITECTURE: Final = re.compile(r"sm_\d{2,3}[af]?")


def default_cache_dir() -> Path:
    """Where compiled modules are kept when nobody says: `$XDG_CACHE_HOME/dlrmc`, else `~/.cache/dlrmc`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dlrmc"


@dataclass(frozen=True)
class Options:
    """How to compile; the same options and the same program give the same kernels.

    Args:
        target: `cuda`, `emulate` (the emitted source on this machine's CPU), `reference` (NumPy over the
            IR), or `auto`: the first of these three that this machine can do.
        precision: `fp32`, or by choice `tf32` or `bf16` products with fp32 sums.
        bounds: what to do about an id or offset out of range, all memory-safe: `deferred` records it on the
            device and raises at the next call, `raise` synchronises and raises in the call, `ignore` only
            counts.
        tune: how long to measure rows and threads of row programs on the GPU: `off`, `fast` or `full`. On
            other targets than `cuda` there is nothing to measure: one line is logged.
        batch_sizes: batch sizes to specialise ahead for a program with a dynamic batch.
        cache_dir: the folder of compiled modules.
        strict: treat a warning of the compiler as an error.
        architecture: the GPU to compile for, as `sm_90`; None is the GPU present, or `sm_90` where there is
            none.
        pad_batches: pad a batch to the next of `batch_sizes` instead of building a program for it.

    Raises:
        OptionError: a value is not one of those above.
    """

    target: str = "auto"
    precision: str = "fp32"
    bounds: str = "deferred"
    tune: str = "off"
    batch_sizes: tuple[int, ...] = ()
    cache_dir: Path = field(default_factory=default_cache_dir)
    strict: bool = False
    architecture: str | None = None
    pad_batches: bool = False

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            _check_choice(name, getattr(self, name), allowed)
        _check_batch_sizes(self.batch_sizes)
        for name in ("strict", "pad_batches"):
            if not isinstance(getattr(self, name), bool):
                found = repr(getattr(self, name))
                raise OptionError(f"option {name}", found=found, expected="True or False")
        if self.pad_batches and not self.batch_sizes:
            expected = "the batches to pad to, as batch_sizes=[16, 64]"
            raise OptionError("option pad_batches", found="no batch_sizes", expected=expected)
        _check_architecture(self.architecture)
        # A list or a text is as good as a tuple or a Path; only the frozen form is kept.
        object.__setattr__(self, "batch_sizes", tuple(self.batch_sizes))
        object.__setattr__(self, "cache_dir", _as_path(self.cache_dir))

    @classmethod
    def of(cls, *, environment: Mapping[str, str] | None = None, **given: Any) -> Options:
        """The options from keyword arguments, over those of the environment, over the defaults.

        An argument that is None counts as not given, so that command line flags can be passed on as they are.

        Raises:
            OptionError: an unknown option (with the nearest known one), an unknown DLRMC_* variable, or a bad
                value.
        """
        known = option_names()
        for name in given:
            if name not in known:
                raise _unknown(f"option {name}", name, known)
        values = {**_read_environment(environment), **{n: v for n, v in given.items() if v is not None}}
        return cls(**values)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Options:
        """The options that the DLRMC_* variables ask for, over the defaults.

        Raises:
            OptionError: an unknown DLRMC_* variable, or a bad value.
        """
        return cls.of(environment=environment)

    def replace(self, **changes: Any) -> Options:
        """These options with some changed; unlike `of`, the environment has no say."""
        known = option_names()
        for name in changes:
            if name not in known:
                raise _unknown(f"option {name}", name, known)
        return dataclasses.replace(self, **changes)


def option_names() -> tuple[str, ...]:
    """The names of all options, in the order of their declaration."""
    return tuple(item.name for item in dataclasses.fields(Options))


def _read_environment(environment: Mapping[str, str] | None) -> dict[str, Any]:
    source = os.environ if environment is None else environment
    known = tuple(ENVIRONMENT_PREFIX + name.upper() for name in option_names())
    values: dict[str, Any] = {}
    for variable in sorted(source):
        text = source[variable].strip()
        if not variable.startswith(ENVIRONMENT_PREFIX) or not text:
            continue
        if variable not in known:
            raise _unknown(f"environment variable {variable}", variable, known)
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        values[name] = _READERS[name](variable, text) if name in _READERS else text
    return values


def _read_flag(variable: str, text: str) -> bool:
    if text.lower() not in _FLAGS:
        expected = "one of " + ", ".join(_FLAGS)
        raise OptionError(f"environment variable {variable}", found=repr(text), expected=expected)
    return _FLAGS[text.lower()]


def _read_batch_sizes(variable: str, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise OptionError(
            f"environment variable {variable}",
            found=repr(text),
            expected="whole numbers separated by commas, as 1,8,64",
        )
    return tuple(int(part) for part in parts)


_READERS: Final[Mapping[str, Callable[[str, str], Any]]] = MappingProxyType(
    {"strict": _read_flag, "pad_batches": _read_flag, "batch_sizes": _read_batch_sizes}
)


def _check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    if value in allowed:
        return
    near = difflib.get_close_matches(str(value), allowed, n=1)
    hint = f"did you mean {name}={near[0]!r}?" if near else ""
    raise OptionError(f"option {name}", found=repr(value), expected="one of " + ", ".join(allowed), hint=hint)


def _check_batch_sizes(value: object) -> None:
    is_list = isinstance(value, (tuple, list))
    if is_list and all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in value):
        return
    raise OptionError("option batch_sizes", found=repr(value), expected="a list of whole numbers above zero")


def _check_architecture(value: object) -> None:
    if value is None or (isinstance(value, str) and _ARCHITECTURE.fullmatch(value)):
        return
    raise OptionError(
        "option architecture",
        found=repr(value),
        expected="a name such as sm_80, sm_90 or sm_100, or None for this GPU",
    )


def _as_path(value: object) -> Path:
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise OptionError("option cache_dir", found=repr(value), expected="the path of a folder")
    return Path(value).expanduser()


def _unknown(place: str, name: str, known: Sequence[str]) -> OptionError:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else ""
    return OptionError(
        place, found="there is no such option", expected="one of " + ", ".join(known), hint=hint
    )
