"""The device code under codegen/cuda: read once, in the order of what each file requires."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

from dlrmc.errors import CodegenError

_REQUIRES = re.compile(r"^//\s*requires:(.*)$", re.MULTILINE)
_DROPPED = re.compile(r"^\s*#\s*(include\b|pragma\s+once\b).*\n?", re.MULTILINE)


@cache
def read_include(name: str) -> str:
    """The text of one file of codegen/cuda, as it stands.

    Raises:
        CodegenError: where there is no such file.
    """
    path = resources.files("dlrmc.codegen").joinpath("cuda", name)
    if not path.is_file():
        raise CodegenError(
            f"include {name!r}",
            found="no such file in dlrmc/codegen/cuda",
            expected="a .cuh that stands there",
        )
    return path.read_text(encoding="utf-8")


def required_by(name: str) -> tuple[str, ...]:
    """The files that a file names in its `// requires: a.cuh b.cuh` lines."""
    lines: list[str] = _REQUIRES.findall(read_include(name))
    return tuple(word for line in lines for word in line.split())


def resolve_includes(names: Iterable[str]) -> tuple[str, ...]:
    """The files and all that they require, each once, every file behind those it requires.

    Raises:
        CodegenError: where a file is missing or requires itself.
    """
    ordered: list[str] = []
    for name in names:
        _visit(name, (), ordered)
    return tuple(ordered)


def _visit(name: str, path: tuple[str, ...], ordered: list[str]) -> None:
    if name in ordered:
        return
    if name in path:
        raise CodegenError(
            f"include {name!r}",
            found=f"it requires itself: {' -> '.join((*path, name))}",
            expected="no cycle",
        )
    for required in required_by(name):
        _visit(required, (*path, name), ordered)
    ordered.append(name)


def include_text(names: Iterable[str]) -> str:
    """The text of the files and all that they require, without `#include` and `#pragma once`."""
    texts = [_DROPPED.sub("", read_include(name)).strip() for name in resolve_includes(names)]
    return "\n\n".join(texts)
