"""Modules built once for the run, and the one process for sanitized launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dlrmc.emulator import EmulatedModule
from dlrmc.emulator.sanitize import SanitizedWorker
from tests.emulator.kernel_files import kernel_file

BuildFile = Callable[..., EmulatedModule]


@pytest.fixture(scope="session")
def build_file(own_cache: Path) -> BuildFile:
    """`build_file(name, sanitize=False)` is the module of kernels/<name>.cu."""

    def build(name: str, *, sanitize: bool = False) -> EmulatedModule:
        file = kernel_file(name)
        return EmulatedModule.build(file.text, file.kernels, cache_dir=own_cache, sanitize=sanitize)

    return build


@pytest.fixture(scope="session")
def sanitized_worker() -> Iterator[SanitizedWorker]:
    with SanitizedWorker() as worker:
        yield worker
