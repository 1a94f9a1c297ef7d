"""Elements of a sequence by their places, without a loop in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any


def picker(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Takes the elements at these places out of a sequence; `itemgetter` gives no sequence for one place."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: [values[place] for place in places]
