"""Checks of the arguments that are no tensors, and words for their structure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlrmc.errors import InputError
from dlrmc.frontend.program import ConstantInput


def check_constant(declared: ConstantInput, leaf: Any) -> None:
    """Refuse another Python value than the one exported.

    Raises:
        InputError: naming the argument and both values.
    """
    same_type = type(leaf) is type(declared.value)
    if same_type and (leaf is declared.value or leaf == declared.value):
        return
    raise InputError(
        declared.path,
        found=f"{leaf!r:.80}",
        expected=f"{declared.value!r}, the value that the export fixed",
        hint="export again with the other value",
    )


def outline(tree: Any) -> str:
    """The containers of an argument in few words: `a list of 3`, `a dict with a, b`."""
    if isinstance(tree, Mapping):
        return f"a {type(tree).__name__} with {', '.join(sorted(map(str, tree)))}"
    if isinstance(tree, (list, tuple)):
        return f"a {type(tree).__name__} of {len(tree)}"
    return "one value"
