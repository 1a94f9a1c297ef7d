"""The parts of cupy that the runtime uses, imported when they are first used.

cupy is an extra, and its own types give its CUDA modules no attribute at all, so they are passed on as Any.
"""

from __future__ import annotations

import importlib
from typing import Any


def raw_module(path: str) -> Any:
    """`cupy.RawModule` of a cubin file."""
    return importlib.import_module("cupy").RawModule(path=path)


def cuda() -> Any:
    """`cupy.cuda`, with Stream, Event, driver, runtime and nvrtc in it.

    Raises:
        ImportError: cupy is not installed, or does not load.
    """
    return importlib.import_module("cupy.cuda")
