"""What importers build with: IR nodes that carry the torch name and the user's source line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlrmc.frontend.constants import Constants
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.attributes import Attribute
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Array, Operands
from dlrmc.ir.types import DType, TensorType

# A constant up to this many elements stands in the text; a larger uniform one is a scalar, expanded.
MAX_CONST_ELEMENTS = 1024


@dataclass(frozen=True)
class Parts:
    """The value of an op with several results: `item(k)` makes result k, once asked for."""

    item: Callable[[int], Node]
    count: int


# What an fx node stands for: a tensor, several of them, a list of them, or a Python value.
Value = Node | Parts | Any


@dataclass
class Builder:
    """Adds IR nodes for one fx node at a time; every node of one call has its source line."""

    graph: Graph
    name: str = "value"
    source: str = ""
    constants: Constants = field(default_factory=Constants)
    _scalars: dict[tuple[DType, str], Node] = field(default_factory=dict)

    def begin(self, name: str, source: str) -> None:
        """Name and source line of the nodes that follow."""
        self.name = name
        self.source = source

    def op(
        self,
        op: str,
        operands: Operands[Node],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        name: str | None = None,
    ) -> Node:
        """Add a node; its name is the fx node's unless one is given."""
        return self.graph.add(op, operands, attributes or {}, name=name or self.name, source=self.source)

    def inner(self, op: str, *operands: Node, **attributes: Attribute) -> Node:
        """Add a node that the fx graph has no name for: `mul_cast`."""
        return self.graph.add(op, operands, attributes, name=f"{self.name}_{op}", source=self.source)

    # -- constants -------------------------------------------------------------------------------------------

    def scalar(self, value: Any, dtype: DType) -> Node:
        """A rank-0 constant; one node per value and dtype."""
        array = scalar_array(value, dtype)
        key = (dtype, array.tobytes().hex())
        if key not in self._scalars:
            self._scalars[key] = self.graph.const(_scalar_name(value), array, TensorType(dtype, ()))
        return self._scalars[key]

    def const(self, value: Array) -> Node:
        """A constant of the fx node's name; one that is uniform and large becomes an expanded scalar."""
        if value.size > MAX_CONST_ELEMENTS and _is_uniform(value):
            return self.full(value.shape, value.flat[0], DType.of_numpy(value.dtype))
        return self.graph.const(self.name, value)

    def full(self, shape: tuple[int, ...], value: Any, dtype: DType) -> Node:
        """A tensor of one value: a constant where small, else a scalar expanded to the shape."""
        if not shape:
            return self.scalar(value, dtype)
        if math.prod(shape) <= MAX_CONST_ELEMENTS:
            return self.graph.const(
                self.name, np.full(shape, scalar_array(value, dtype)), TensorType(dtype, shape)
            )
        return self.op("expand", (self.scalar(value, dtype),), {"shape": shape})

    # -- elements --------------------------------------------------------------------------------------------

    def cast(self, node: Node, dtype: DType) -> Node:
        """The value in that dtype; no node where it has it."""
        if node.type.dtype is dtype:
            return node
        return self.inner("cast", node, to=dtype)

    def operand(self, value: Any, dtype: DType) -> Node:
        """A tensor cast to the dtype, or a Python number as a constant of it."""
        return self.cast(value, dtype) if isinstance(value, Node) else self.scalar(value, dtype)

    # -- shapes ----------------------------------------------------------------------------------------------

    def view(self, node: Node, shape: Sequence[int]) -> Node:
        """The value in another shape, row-major; no node where it has it."""
        if node.shape == tuple(shape):
            return node
        return self.op("view", (node,), {"shape": tuple(shape)})

    def inner_view(self, node: Node, shape: Sequence[int]) -> Node:
        """The same for a view that the fx graph has no name for."""
        return node if node.shape == tuple(shape) else self.inner("view", node, shape=tuple(shape))

    def permute(self, node: Node, perm: Sequence[int]) -> Node:
        """The value with its dimensions in another order; a weight's transpose is named after the weight."""
        if list(perm) == list(range(node.type.rank)):
            return node
        name = f"{node.name}_t" if node.is_op("weight") else self.name
        return self.op("permute", (node,), {"perm": tuple(perm)}, name=name)

    def expand(self, node: Node, shape: Sequence[int]) -> Node:
        """The value broadcast to a shape; no node where it has it."""
        if node.shape == tuple(shape):
            return node
        return self.op("expand", (node,), {"shape": tuple(shape)})

    def slice(self, node: Node, dim: int, start: int, stop: int, step: int = 1) -> Node:
        """A range of one dimension, bounds already normal; no node where it is all."""
        if (start, stop, step) == (0, node.shape[dim], 1):
            return node
        attributes = {"dim": dim, "start": start, "stop": stop, "step": step}
        return self.op("slice", (node,), attributes)

    def cat(self, parts: Sequence[Node], dim: int) -> Node:
        """The values one after the other along a dimension; no node for a single one."""
        if len(parts) == 1:
            return parts[0]
        return self.op("cat", (tuple(parts),), {"dim": dim})


def scalar_array(value: Any, dtype: DType) -> Array:
    """A rank-0 array of a Python number, converted as torch does (floats to ints by truncation)."""
    if isinstance(value, complex):
        raise Refused(f"complex number {value}")
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy.name)
        if not info.min <= int(value) <= info.max:
            raise Refused(f"number {value} does not fit {dtype}")
        return np.array(int(value), dtype.numpy)
    return np.array(value).astype(dtype.numpy)


def fits_exactly(value: Any, dtype: DType) -> bool:
    """Whether a Python number is the same in that dtype."""
    if not dtype.is_float:
        return True
    rounded = float(scalar_array(value, dtype))
    return rounded == value or math.isnan(rounded)  # an int is not rounded by a comparison


def _scalar_name(value: Any) -> str:
    text = re.sub(r"[^0-9A-Za-z]+", "_", f"{value:g}" if isinstance(value, float) else str(value))
    return f"c{text}" if text[0].isdigit() else f"c_{text.strip('_')}"


def _is_uniform(value: Array) -> bool:
    flat = value.reshape(-1).view(np.uint8).reshape(value.size, -1)
    return bool((flat == flat[0]).all())
