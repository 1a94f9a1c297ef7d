"""Bring any exported program to canon: functional, and with the fusable units whole."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram

from dlrmc.frontend.at_canon import is_at_canon

# Decomposing these would take apart what the passes and kernels want whole.
KEPT_WHOLE: tuple[str, ...] = (
    "aten.linear.default",
    "aten.scaled_dot_product_attention.default",
    "aten.embedding_bag.padding_idx",
    "aten.layer_norm.default",
    "aten.softmax.int",
    "aten.gru.input",
    "aten.lstm.input",
)


def canon_table() -> dict[Any, Callable[..., Any]]:
    """The default decompositions of torch.export less those of `KEPT_WHOLE` that this torch has."""
    table = torch.export.default_decompositions()
    for name in KEPT_WHOLE:
        overload = find_overload(name)
        if overload is not None and overload in table:
            del table[overload]
    return table  # pyright: ignore[reportReturnType]


def find_overload(name: str) -> Any | None:
    """The torch operator that prints as `aten.linear.default`, or None in a torch that lacks it."""
    namespace, packet, overload = name.split(".")
    found = getattr(getattr(torch.ops, namespace), packet, None)
    return getattr(found, overload, None)


def canonicalise(program: ExportedProgram) -> ExportedProgram:
    """The program at canon: a new one that shares the weights, or the one given where it is there already.

    Tracing it again would take several times what all passes take.
    """
    if is_at_canon(program):
        return program
    with warnings.catch_warnings():
        # torch's own deprecations, raised by its own retracing, are nothing the user can act on.
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return program.run_decompositions(canon_table())
