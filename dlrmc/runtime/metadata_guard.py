"""Recognises calls whose tensors look like those of a call that was checked in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dlrmc.runtime.torch_internals import MetadataCheck, metadata_check

# Signatures that are remembered: callers alternate between a few (with gradients, in inference mode, ...).
_MOST = 4


class MetadataGuard:
    """Remembers the class, dtype, device, shape and strides of the tensors of good calls.

    Nothing of the tensors themselves is kept, and every tensor is looked at in every call: one object may
    change its shape in place between two calls.

    Args:
        counted: the places of one-dimensional tensors that may have any number of elements.

    Attributes:
        newest: the check of the call that was learnt last.
    """

    def __init__(self, counted: Sequence[int] = ()) -> None:
        self._counted = tuple(counted)
        self.newest: MetadataCheck = _accept_nothing
        self._checks: tuple[MetadataCheck, ...] = ()

    def accepts(self, tensors: Sequence[Any]) -> bool:
        """Whether every tensor looks like that of one good call."""
        found = tuple(tensors)
        for check in self._checks:  # noqa: SIM110 - a generator costs more than the rest
            if check(found):
                return True
        return False

    def learn(self, tensors: Sequence[torch.Tensor]) -> None:
        """Remember a call that was found good; the oldest is forgotten."""
        self.newest = metadata_check(tensors, self._counted)
        self._checks = (self.newest, *self._checks)[:_MOST]


def _accept_nothing(tensors: tuple[Any, ...]) -> bool:
    return False
