"""One call of an aten operator, its arguments resolved and named by the operator's schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType, TensorType


@dataclass(frozen=True)
class Call:
    """A call as importers see it.

    Attributes:
        node: the fx node.
        target: its operator, as `aten.linear.default`.
        source: the user's source line.
        arguments: every argument of the schema by name, defaults filled in; tensors as IR nodes.
        result: the type that torch inferred for the result; None where the result is a list or tuple.
        results: the types of the items of a list or tuple result; None items are no tensors.
    """

    node: fx.Node
    target: str
    source: str
    arguments: Mapping[str, Any]
    result: TensorType | None
    results: tuple[TensorType | None, ...]

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The argument of that name, or the default where the operator has none such or it is None."""
        value = self.arguments.get(name)
        return default if value is None else value

    def tensor(self, name: str) -> Node:
        """The argument of that name, which is a tensor."""
        value = self.arguments[name]
        if not isinstance(value, Node):
            raise Refused(f"argument {name} is {value!r}, not a tensor")
        return value

    def tensors(self, name: str) -> list[Node]:
        """The argument of that name, which is a list of tensors."""
        return [self._item(name, item) for item in self.arguments[name]]

    @staticmethod
    def _item(name: str, item: Any) -> Node:
        if not isinstance(item, Node):
            raise Refused(f"argument {name} holds {item!r}, not a tensor")
        return item

    @property
    def type(self) -> TensorType:
        """The type of the single result."""
        if self.result is None:
            raise Refused("the result is not a single tensor")
        return self.result

    @property
    def dtype(self) -> DType:
        """The dtype of the single result."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the single result."""
        return self.type.shape


def schema_arguments(node: fx.Node, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Positional and keyword arguments by the names of the operator's schema, defaults filled in."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return {f"arg{position}": value for position, value in enumerate(args)} | dict(kwargs)
    named: dict[str, Any] = {}
    for position, argument in enumerate(target._schema.arguments):
        if position < len(args):
            named[argument.name] = args[position]
        elif argument.name in kwargs:
            named[argument.name] = kwargs[argument.name]
        else:
            named[argument.name] = argument.default_value if argument.has_default_value() else None
    return named


def normal_dim(dim: int, rank: int) -> int:
    """A dimension counted from the front; a scalar counts as having one.

    Raises:
        Refused: where there is no such dimension.
    """
    room = max(rank, 1)
    if not -room <= dim < room:
        raise Refused(f"dimension {dim} of a tensor of rank {rank}")
    return dim % room
