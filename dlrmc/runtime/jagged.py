"""Jagged features of a request, split into what a program per table takes: ids, offsets, and weights.

torchrec's KeyedJaggedTensor holds the ids of many features in one tensor. Its split depends on values, so
that a model which takes one exports with a device-to-host copy for each table. Here the split stands outside:
export the model with ids and offsets for each feature, and let `JaggedProgram` call it.

    program = dlrmc.jagged.JaggedProgram(compiled, capacities={"user": 4096, "item": 65536})
    scores = program(dense, kjt)          # compiled(dense, {"user": (ids, offsets), "item": (ids, offsets)})

torchrec is not needed: whatever has keys(), values() and offsets() or lengths() will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch

from dlrmc.errors import InputError

PLACE = "jagged features"


class Jagged(Protocol):
    """What is needed of a KeyedJaggedTensor; besides offsets() or lengths(), and weights_or_none() if any."""

    def keys(self) -> Sequence[str]:
        """The names of the F features."""
        ...

    def values(self) -> torch.Tensor:
        """The ids of all bags, [N], those of the first feature first."""
        ...


class Feature(NamedTuple):
    """The bags of one feature: an embedding bag's arguments with include_last_offset=True.

    Attributes:
        ids: [n], or [capacity] with zeros behind the last bag.
        offsets: [B + 1], from 0 to n.
    """

    ids: torch.Tensor
    offsets: torch.Tensor


class WeightedFeature(NamedTuple):
    """The same with per-sample weights, [n] or [capacity]."""

    ids: torch.Tensor
    offsets: torch.Tensor
    weights: torch.Tensor


@dataclass(frozen=True)
class Split:
    """How features are split.

    Args:
        capacities: for each feature, or for all, the number of ids that the exported program takes; shorter
            ids are padded behind the last bag, where an embedding bag with include_last_offset=True does not
            read them. None leaves each feature its own number.
        include_last_offset: False leaves out the last offset. Then the last bag ends with the ids, so
            that there can be no capacities.
    """

    capacities: Mapping[str, int] | int | None = None
    include_last_offset: bool = True

    def __post_init__(self) -> None:
        if self.capacities is not None and not self.include_last_offset:
            raise InputError(
                PLACE,
                found="capacities without the last offset",
                expected="include_last_offset=True, or the last bag would take in the padding",
                hint="export the embedding bags with include_last_offset=True",
            )

    def features(self, jagged: Jagged) -> dict[str, Feature | WeightedFeature]:
        """The features of a KeyedJaggedTensor or its like, by key.

        Raises:
            InputError: it has bags of a different number by feature, or more ids than a capacity.
        """
        strides = set(_of(jagged, "stride_per_key") or ())
        if len(strides) > 1:
            raise InputError(
                PLACE,
                found=f"features of {', '.join(map(str, sorted(strides)))} bags",
                expected="the same number of bags in each feature",
            )
        offsets = _of(jagged, "offsets")
        return self.split(
            jagged.values(),
            jagged.keys(),
            offsets=offsets,
            lengths=_of(jagged, "lengths") if offsets is None else None,
            weights=_of(jagged, "weights_or_none"),
            ends=_of(jagged, "offset_per_key"),
        )

    def split(
        self,
        values: torch.Tensor,
        keys: Sequence[str],
        *,
        offsets: torch.Tensor | None = None,
        lengths: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
        ends: Sequence[int] | None = None,
    ) -> dict[str, Feature | WeightedFeature]:
        """The features of plain tensors, by key.

        Args:
            values: the ids [N], those of the first feature first.
            keys: the names of the F features.
            offsets: [F * B + 1], or else lengths: [F * B].
            lengths: ids of each bag.
            weights: [N], or None.
            ends: the F + 1 positions at which features begin and the last ends, where the caller has them on
                the host; else they are read from the device, which waits for it.

        Raises:
            InputError: sizes that do not fit, or more ids than a capacity.
        """
        offsets = _offsets(values, keys, offsets, lengths)
        bags = (len(offsets) - 1) // len(keys)
        if ends is None:
            ends = offsets[::bags].tolist() if bags else [0] * (len(keys) + 1)
        found: dict[str, Feature | WeightedFeature] = {}
        for number, key in enumerate(keys):
            begin, end = int(ends[number]), int(ends[number + 1])
            own = offsets[number * bags : (number + 1) * bags + self.include_last_offset] - begin
            ids = self._padded(key, values[begin:end])
            if weights is None:
                found[key] = Feature(ids, own)
            else:
                found[key] = WeightedFeature(ids, own, self._padded(key, weights[begin:end]))
        return found

    def _padded(self, key: str, part: torch.Tensor) -> torch.Tensor:
        """The ids or weights of one feature, as many as its capacity."""
        capacity = self._capacity(key)
        if capacity is None or capacity == len(part):
            return part
        if len(part) > capacity:
            raise InputError(
                f"feature {key!r}",
                found=f"{len(part)} ids",
                expected=f"at most {capacity}, its capacity",
                hint="export again with more ids, or send fewer requests at once",
            )
        return torch.nn.functional.pad(part, (0, capacity - len(part)))

    def _capacity(self, key: str) -> int | None:
        if self.capacities is None or isinstance(self.capacities, int):
            return self.capacities
        if key not in self.capacities:
            raise InputError(
                f"feature {key!r}",
                found="no capacity",
                expected=f"one of the features {', '.join(self.capacities)}",
                hint="give every feature a capacity, or none",
            )
        return self.capacities[key]


class JaggedProgram:
    """A compiled program per table that is called with KeyedJaggedTensors.

    Every argument, also inside of lists, tuples and dictionaries, that has keys(), values() and offsets() or
    lengths(), and is no mapping, becomes a dictionary of its features: (ids, offsets), or (ids, offsets,
    weights) where it has weights. Export the model with arguments of that structure.

    Args:
        compiled: of `dlrmc.compile`, or the eager model.
        capacities: as of `Split`.
        include_last_offset: as of `Split`.
    """

    def __init__(
        self,
        compiled: Callable[..., Any],
        *,
        capacities: Mapping[str, int] | int | None = None,
        include_last_offset: bool = True,
    ) -> None:
        self.compiled = compiled
        self._split = Split(capacities, include_last_offset)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The program's results.

        Raises:
            InputError: as of `Split.features`, and of the program.
        """
        return self.compiled(*self.arguments(args), **self.arguments(kwargs))

    def arguments(self, value: Any) -> Any:
        """Arguments as the program takes them; also what to export the model with, and to `bind`."""
        if is_jagged(value):
            # Plain tuples: an exported structure tells them from named ones.
            return {key: tuple(feature) for key, feature in self._split.features(value).items()}
        if isinstance(value, Mapping):
            return {key: self.arguments(each) for key, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self.arguments(each) for each in value)
        return value


def is_jagged(value: Any) -> bool:
    """Whether the value has the methods of a KeyedJaggedTensor that are needed here."""
    if isinstance(value, Mapping | torch.Tensor):
        return False
    has_bags = hasattr(value, "offsets") or hasattr(value, "lengths")
    return has_bags and hasattr(value, "keys") and hasattr(value, "values")


def _of(jagged: Jagged, method: str) -> Any:
    """What the method gives, or None where there is none of that name."""
    found = getattr(jagged, method, None)
    return None if found is None else found()


def _offsets(
    values: torch.Tensor, keys: Sequence[str], offsets: torch.Tensor | None, lengths: torch.Tensor | None
) -> torch.Tensor:
    """Offsets [F * B + 1], in the dtype of what was given."""
    if not keys or len(set(keys)) < len(keys):
        raise InputError(PLACE, found=f"keys {list(keys)}", expected="one or more different names")
    if (offsets is None) == (lengths is None):
        raise InputError(PLACE, found="both or neither of offsets and lengths", expected="one of them")
    if values.dim() != 1:
        raise InputError(PLACE, found=f"values of shape {list(values.shape)}", expected="one dimension")
    if offsets is None:
        assert lengths is not None
        ends = torch.cumsum(lengths, 0, dtype=lengths.dtype)
        offsets = torch.nn.functional.pad(ends, (1, 0))
    if offsets.dim() != 1 or not len(offsets) or (len(offsets) - 1) % len(keys):
        raise InputError(
            PLACE,
            found=f"{len(offsets) - 1} bags for {len(keys)} features",
            expected="the same number of bags for each feature",
        )
    return offsets
