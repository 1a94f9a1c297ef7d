"""Figures of matplotlib as files: found where it is installed, written the same for the same rows."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

from dlrmc.errors import InputError, OptionError

_FORMATS: Final = (".png", ".svg")


def open_pyplot(path: Path) -> Any:
    """matplotlib's pyplot, drawing to files only.

    Raises:
        OptionError: the file's name does not end in .png or .svg, or matplotlib is missing.
    """
    if path.suffix not in _FORMATS:
        raise OptionError("option --plot", found=path.name, expected="a name that ends in .png or .svg")
    try:
        importlib.import_module("matplotlib").use("Agg")  # files only, no display
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise OptionError(
            "option --plot", found=str(error), expected="matplotlib", hint='pip install "matplotlib>=3.9"'
        ) from error


def save_figure(figure: Any, path: Path, pyplot: Any) -> None:
    """Write and close a figure.

    Raises:
        InputError: the file cannot be written.
    """
    # No date and no random ids, so that the same rows give the same file.
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    try:
        with pyplot.rc_context({"svg.hashsalt": "dlrmc"}):
            figure.savefig(path, dpi=130, metadata=metadata)
    except OSError as error:
        raise InputError(
            str(path), found=error.strerror or str(error), expected="a file that can be written"
        ) from error
    finally:
        pyplot.close(figure)
