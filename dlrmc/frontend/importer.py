"""Walk a canon program and build its graph; collect what cannot be taken."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import fx

from dlrmc.errors import FrontendError, TypeRuleError, UnsupportedOp
from dlrmc.frontend.at_canon import IN_PLACE
from dlrmc.frontend.aten import IMPORTERS, naming
from dlrmc.frontend.builder import Builder, Parts, Value
from dlrmc.frontend.call import Call, schema_arguments
from dlrmc.frontend.dtypes import dtype_of_torch
from dlrmc.frontend.liveness import live_nodes
from dlrmc.frontend.refusal import Refused
from dlrmc.frontend.source import source_of
from dlrmc.frontend.symbols import Sizes
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.types import TensorType


class _Missing:
    """Stands for the value of an op that was refused, so that its readers are passed over."""


MISSING = _Missing()

# The size of these results depends on values: torch has a new symbol for it, the importer knows it.
VALUE_SIZED = (
    "aten.masked_select.default",
    "aten.nonzero.default",
    "aten.index.Tensor",
    "aten.repeat_interleave.Tensor",
)


class Importer:
    """Imports the calls of one program; `values` starts with the placeholders."""

    def __init__(self, graph: Graph, sizes: Sizes, values: dict[fx.Node, Value]) -> None:
        self._builder = Builder(graph)
        self._sizes = sizes
        self._values = values
        self.unsupported: list[UnsupportedOp] = []

    def run(self, nodes: list[fx.Node]) -> None:
        """Import every call that something reads, in order; refusals go to `unsupported`."""
        live = live_nodes(nodes)
        for node in nodes:
            if node not in live:
                continue
            if node.op == "call_function":
                self._values[node] = self._attempt(node)
            elif node.op not in ("placeholder", "output"):
                self._refuse(node, f"fx node of kind {node.op}")

    def value(self, argument: Any) -> Value:
        """What an fx argument stands for: tensors as IR nodes, sizes as numbers, lists item by item."""
        if isinstance(argument, fx.Node):
            return self._sizes.number(self._values[argument])
        if isinstance(argument, list | tuple):
            return [self.value(item) for item in argument]
        return self._sizes.number(argument)

    def _attempt(self, node: fx.Node) -> Value:
        try:
            return self._import(node)
        except Refused as refusal:
            return self._refuse(node, refusal.reason)
        except TypeRuleError as error:
            return self._refuse(node, f"{error.place}: {error.found}, expected {error.expected}")

    def _refuse(self, node: fx.Node, reason: str) -> Value:
        self.unsupported.append(UnsupportedOp(_target(node), node.name, source_of(node), reason))
        return MISSING

    def _import(self, node: fx.Node) -> Value:
        val = node.meta.get("val")
        if isinstance(val, torch.SymInt | torch.SymFloat | torch.SymBool):
            return self._number(node, val)
        if isinstance(val, int | float | bool):
            return val
        target = _target(node)
        importer = IMPORTERS.get(IN_PLACE.get(target, target))
        if importer is None:
            raise Refused("dlrmc has no such op")
        arguments = schema_arguments(node, [self.value(a) for a in node.args], self.value_map(node.kwargs))
        if _has_missing(arguments.values()):
            return MISSING
        if target == "getitem":
            return self._item(node, arguments["arg0"], arguments["arg1"])
        source = source_of(node)
        self._builder.begin(naming.node_name(node), source)
        if target in VALUE_SIZED and isinstance(val, torch.Tensor) and not self._sizes.are_known(val.shape):
            value = importer(self._builder, Call(node, target, source, arguments, None, ()))
            return self._learned(node, source, val, value)
        result, results = self._types(val)
        value = importer(self._builder, Call(node, target, source, arguments, result, results))
        if result is not None:
            _check_type(node, source, value, result)
        return value

    def _number(self, node: fx.Node, val: Any) -> Value:
        """A size or a condition on sizes; torch may give each reading of one size a symbol of its own."""
        arguments: list[Any] = [self.value(argument) for argument in node.args]
        if _has_missing(arguments):
            return MISSING
        if _target(node) == "aten.sym_size.int" and isinstance(arguments[0], Node):
            self._sizes.learn(val, arguments[0].shape[arguments[1]])
        return self._sizes.number(val)

    def _learned(self, node: fx.Node, source: str, val: torch.Tensor, value: Value) -> Node:
        """The value, when the sizes that it turned out to have stand for torch's symbols."""
        assert isinstance(value, Node)
        for symbolic, size in zip(val.shape, value.shape, strict=True):
            self._sizes.learn(symbolic, size)
        _check_type(node, source, value, self._type(val))
        return value

    @property
    def read_constants(self) -> Collection[Node]:
        """The constants whose values decided what was built."""
        return self._builder.constants.read

    def value_map(self, arguments: Mapping[str, Any]) -> dict[str, Value]:
        """`value` of each."""
        return {name: self.value(argument) for name, argument in arguments.items()}

    def _item(self, node: fx.Node, parts: Value, index: int) -> Value:
        if not isinstance(parts, Parts):
            raise Refused(f"result {index} of {parts!r}")
        self._builder.begin(naming.node_name(node), source_of(node))
        return parts.item(index % parts.count)

    def _types(self, val: Any) -> tuple[TensorType | None, tuple[TensorType | None, ...]]:
        if isinstance(val, torch.Tensor):
            return self._type(val), ()
        if isinstance(val, list | tuple):
            return None, tuple(self._type(item) if isinstance(item, torch.Tensor) else None for item in val)
        return None, ()

    def _type(self, tensor: torch.Tensor) -> TensorType:
        return TensorType(dtype_of_torch(tensor.dtype), self._sizes.shape(tensor.shape))


def _target(node: fx.Node) -> str:
    return "getitem" if node.target is operator.getitem else str(node.target)


def _has_missing(values: Any) -> bool:
    return any(
        value is MISSING or (isinstance(value, list | tuple) and _has_missing(value)) for value in values
    )


def _check_type(node: fx.Node, source: str, value: Value, expected: TensorType) -> None:
    """An importer must give the type that torch gave; anything else is a bug here, and is never passed on."""
    found = value.type if isinstance(value, Node) else value
    if found == expected:
        return
    raise FrontendError(
        source or f"%{node.name}",
        found=f"{node.target} was imported as {found}",
        expected=f"{expected}, as torch infers",
        hint="this is a bug in dlrmc.frontend: please report it with the exported program",
    )
