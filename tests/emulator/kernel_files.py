"""The handwritten kernels of kernels/*.cu, each behind ptx.cuh, as emitted sources are."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dlrmc.emulator import Argument, KernelLaunch

FOLDER = Path(__file__).parent / "kernels"
PTX = Path(__file__).parents[2] / "dlrmc" / "codegen" / "cuda" / "ptx.cuh"
_ENTRY = re.compile(r'extern "C" __global__ void __launch_bounds__\((\d+)\)\s+(\w+)\(([^)]*)\)')


@dataclass(frozen=True)
class KernelFile:
    """One file: its whole text, and (name, number of arguments) of each kernel."""

    text: str
    kernels: tuple[tuple[str, int], ...]

    def line_of(self, part: str) -> int:
        """The number of the first line of the text with `part` in it."""
        return next(n for n, line in enumerate(self.text.splitlines(), 1) if part in line)


@functools.cache
def kernel_file(name: str) -> KernelFile:
    """The file kernels/<name>.cu."""
    text = PTX.read_text() + (FOLDER / f"{name}.cu").read_text()
    kernels = tuple((entry[2], entry[3].count(",") + 1) for entry in _ENTRY.finditer(text))
    return KernelFile(text, kernels)


def file_names() -> list[str]:
    """The names of all files."""
    return sorted(path.stem for path in FOLDER.glob("*.cu"))


def launch_on(
    kernel: str, buffers: list[np.ndarray], *, grid: int = 1, block: int = 32, shared_bytes: int = 0
) -> KernelLaunch:
    """A launch with one argument for each buffer."""
    return KernelLaunch(kernel, grid, block, shared_bytes, tuple(Argument(i) for i in range(len(buffers))))
