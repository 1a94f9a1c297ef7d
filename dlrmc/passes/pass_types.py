"""What a pass is and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dlrmc.ir.graph import Graph


@dataclass(frozen=True)
class PassResult:
    """What a pass did: how many changes, and how often each thing with a name happened."""

    changes: int
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType(dict[str, int]()))

    @staticmethod
    def of(counts: Mapping[str, int]) -> PassResult:
        """The result with these counts, those of zero left out."""
        kept = {name: count for name, count in counts.items() if count}
        return PassResult(sum(kept.values()), MappingProxyType(kept))


@dataclass(frozen=True)
class Pass:
    """One step of the compiler: rewrites the graph in place and keeps its meaning.

    `name` is the file's name with dashes, the word of `dlrmc opt --passes`, and the stage of `dlrmc dump-ir`.
    """

    name: str
    why: str
    run: Callable[[Graph], PassResult]
