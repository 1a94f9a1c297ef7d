"""Where the batch stands in a value, and what the value looks like with the batch in front.

In row-major order the elements of a value are a box [before, batch, after], and no reshape changes that: so
`before` alone says where the batch is, whatever becomes of the dimensions. The value *with the batch in
front* is that box as [batch, before, after]. The dimensions around the batch are kept, and a dimension that
holds more than the batch is split: f32[6, 2 * batch, 8] becomes f32[batch, 6, 2, 8].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dlrmc.ir.rows import Dependence

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BatchAxis:
    """How a value depends on the batch.

    Args:
        before: the first side of the box.
        is_same: whether all rows are equal, so that one stands for them all: an expanded weight, for example.
    """

    before: int
    is_same: bool = False


# Where the batch is in a value; UNIFORM where it is nowhere, MIXED where that is not known.
Placement = BatchAxis | Dependence


@dataclass(frozen=True, slots=True)
class Spot:
    """The dimension that holds the batch: its size is outer * batch * inner, in that order."""

    dim: int
    outer: int
    inner: int

    @property
    def is_leading(self) -> bool:
        """Whether the rows stand one after the other, each in one run."""
        return self.dim == 0 and self.outer == 1

    @property
    def sides(self) -> Shape:
        """The sizes beside the batch, which get dimensions of their own where they are not 1."""
        return tuple(size for size in (self.outer, self.inner) if size > 1)

    def at(self, dim: int) -> Spot:
        """The same in another dimension."""
        return Spot(dim, self.outer, self.inner)

    def axis_in(self, shape: Shape, *, is_same: bool) -> BatchAxis:
        """The placement of a value of this shape with the batch in this spot."""
        return BatchAxis(math.prod(shape[: self.dim]) * self.outer, is_same)

    def in_front(self, dim: int) -> int:
        """Where another dimension of the value stands once the batch is in front."""
        return dim + 1 if dim < self.dim else dim + len(self.sides)

    @property
    def sides_in_front(self) -> tuple[int, ...]:
        """Where `sides` stand once the batch is in front."""
        return tuple(range(self.dim + 1, self.dim + 1 + len(self.sides)))

    def shape_in_front(self, shape: Shape, rows: int) -> Shape:
        """A shape with this spot as it is with the batch in front, where the leading dimension is `rows`."""
        return (rows, *shape[: self.dim], *self.sides, *shape[self.dim + 1 :])

    def stretched(self, shape: Shape) -> Shape:
        """The shape in front of a value that has size 1 in this spot and broadcasts over the batch."""
        return (1, *shape[: self.dim], *(1 for _ in self.sides), *shape[self.dim + 1 :])


def find_spot(shape: Shape, before: int, batch: int) -> Spot | None:
    """The dimension that holds the whole batch, of which there is at most one; None where a reshape cut it.

    `batch` is 2 or more, and no size is 0.
    """
    passed = 1
    for dim, size in enumerate(shape):
        if before % passed == 0 and size % (before // passed * batch) == 0:
            outer = before // passed
            return Spot(dim, outer, size // (outer * batch))
        passed *= size
    return None
