"""Recognises calls whose tensors look like those of a call that was checked in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import torch

from dlrmc.runtime.picking import picker
from dlrmc.runtime.torch_internals import metadata_check

# Signatures that are remembered: callers alternate between a few (with gradients, in inference mode, ...).
_MOST = 4

Check = Callable[..., bool]


class MetadataGuard:
    """Remembers the class, dtype, device, shape and strides of the tensors of good calls.

    Nothing of the tensors themselves is kept, and every tensor is looked at in every call: one object may
    change its shape in place between two calls.

    Args:
        counted: the places of one-dimensional tensors that may have any number of elements.

    Attributes:
        newest: the check of the call that was learnt last, of tensors one by one.
    """

    def __init__(self, counted: Sequence[int] = ()) -> None:
        self._counted = frozenset(counted)
        self.newest: Check = _accept_nothing
        self._checks: tuple[Check, ...] = ()

    def accepts(self, tensors: Sequence[Any]) -> bool:
        """Whether every tensor looks like that of one good call."""
        for check in self._checks:  # noqa: SIM110 - a generator costs more than the rest
            if check(*tensors):
                return True
        return False

    def learn(self, tensors: Sequence[torch.Tensor]) -> None:
        """Remember a call that was found good; the oldest is forgotten."""
        self.newest = _make_check(tensors, self._counted)
        self._checks = (self.newest, *self._checks)[:_MOST]


def _accept_nothing(*tensors: Any) -> bool:
    return False


def _make_check(tensors: Sequence[torch.Tensor], counted: frozenset[int]) -> Check:
    """One object may stand in several places; such a call is recognised by the same places sharing."""
    first: dict[int, int] = {}
    places = [first.setdefault(id(tensor), place) for place, tensor in enumerate(tensors)]
    unique = [place for place, source in enumerate(places) if place == source]
    varying = [number for number, place in enumerate(unique) if place in counted]
    check = metadata_check([tensors[place] for place in unique], varying)
    if len(unique) == len(tensors):
        return check
    shared = [(place, source) for place, source in enumerate(places) if place != source]
    copies, sources = zip(*shared, strict=True)
    pick_copies, pick_sources = picker(copies), picker(sources)

    def check_shared(*found: Any) -> bool:
        same = all(map(is_, pick_copies(found), pick_sources(found)))
        return same and check(*[found[place] for place in unique])

    return check_shared
