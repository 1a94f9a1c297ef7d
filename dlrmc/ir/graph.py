"""The graph: typed nodes on a networkx.MultiDiGraph, and the only writer of its edges.

`node.operands` is the truth and the edges mirror it. `Graph.add`, `Graph.replace` and `Graph.erase` are the
only functions that write either; `dlrmc.ir.verify` compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np

from dlrmc.errors import PassError, TypeRuleError
from dlrmc.ir.attributes import Attribute, Attributes
from dlrmc.ir.inference import infer_type
from dlrmc.ir.node import LEAVES, Node, safe_name
from dlrmc.ir.op import Array, Op, Operands, check_arity, complete_attributes, flatten, map_operands
from dlrmc.ir.ops import find_op
from dlrmc.ir.types import DType, TensorType

__all__ = ["LEAVES", "Graph", "Node", "safe_name"]


class Graph:
    """A program: inputs, weights, constants, ops and an ordered list of outputs."""

    def __init__(self, name: str) -> None:
        self.name = safe_name(name)
        self._digraph: nx.MultiDiGraph[Node] = nx.MultiDiGraph()
        self._names: dict[str, Node] = {}
        self._inputs: list[Node] = []
        self._outputs: tuple[Node, ...] = ()
        self._next_number = 0
        self._order: tuple[Node, ...] | None = None

    # -- reading ---------------------------------------------------------------------------------------------

    @property
    def digraph(self) -> nx.MultiDiGraph[Node]:
        """A read-only view of the networkx graph: an edge from an operand to its user, keyed by position."""
        return nx.subgraph_view(self._digraph)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The inputs in the order of the signature, unused ones too."""
        return tuple(self._inputs)

    @property
    def outputs(self) -> tuple[Node, ...]:
        """The returned values; one may stand here more than once."""
        return self._outputs

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes in topological order, ties broken by insertion number.

        Raises:
            PassError: where the graph has a cycle.
        """
        if self._order is None:
            self._order = self._sort()
        return self._order

    def __contains__(self, node: Node) -> bool:
        return node in self._digraph

    def __len__(self) -> int:
        return self._digraph.number_of_nodes()

    def has_name(self, name: str) -> bool:
        """Whether a value of that name exists."""
        return name in self._names

    def find(self, name: str) -> Node:
        """The node of that name.

        Raises:
            PassError: where there is none.
        """
        if name not in self._names:
            raise PassError(f"graph @{self.name}", found=f"no value %{name}", expected="a name of the graph")
        return self._names[name]

    def operand_edges(self, node: Node) -> dict[int, Node]:
        """The sources of the node's incoming networkx edges by position, in that order."""
        edges = self._digraph.in_edges(node, keys=True)
        return {position: source for source, _, position in sorted(edges, key=lambda edge: edge[2])}

    def users(self, node: Node) -> tuple[Node, ...]:
        """The distinct nodes that read the value, by insertion number."""
        return tuple(sorted(self._digraph.successors(node), key=lambda user: user.number))

    def use_count(self, node: Node) -> int:
        """How many operand places and outputs read the value."""
        return self._digraph.out_degree(node) + sum(output is node for output in self._outputs)

    def returns(self, node: Node) -> bool:
        """Whether the value is one of the outputs."""
        return any(output is node for output in self._outputs)

    def depends_on(self, node: Node, ancestor: Node) -> bool:
        """Whether a path runs from `ancestor` to `node`."""
        return nx.has_path(self._digraph, ancestor, node)

    # -- writing ---------------------------------------------------------------------------------------------

    def input(self, name: str, type: TensorType) -> Node:
        """Append an input to the signature."""
        node = self._leaf("input", name, type)
        self._inputs.append(node)
        return node

    def weight(self, name: str, type: TensorType, target: str) -> Node:
        """Add a weight that is bound at load to the state-dict entry `target`."""
        return self._leaf("weight", name, type, target=target)

    def const(
        self, name: str, value: Array, type: TensorType | None = None, *, place: Node | None = None
    ) -> Node:
        """Add a constant; the array is copied and made read-only. `place` is as in `add`."""
        kept = np.array(value, copy=True, order="C")
        kept.flags.writeable = False
        kept_type = type or TensorType(DType.of_numpy(kept.dtype), kept.shape)
        if kept.shape != kept_type.shape or kept.dtype != kept_type.dtype.numpy:
            raise TypeRuleError(
                f"const %{name}", found=f"an array {kept.dtype}{list(kept.shape)}", expected=str(kept_type)
            )
        node = self._leaf("const", name, kept_type, constant=kept)
        if place is not None:
            self._rewrite(node, number=place.number)
        return node

    def add(
        self,
        op: str | Op,
        operands: Operands[Node],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        name: str | None = None,
        source: str = "",
        body: Graph | None = None,
        place: Node | None = None,
    ) -> Node:
        """Add a node; its type is inferred (that of a kernel or derive, from its body).

        Args:
            op: the card or its name.
            operands: one entry for each operand of the card: a Node, None, or a tuple of these.
            attributes: those that differ from the defaults.
            name: the wanted name; a number is added where it is taken. Default: the op's name.
            source: the user's source line.
            body: the IR inside a kernel or derive.
            place: the node beside which the new one stands in the order; default: after all others.

        Raises:
            TypeRuleError: where the operands do not fit the card.
            PassError: where an operand is not in the graph.
        """
        card = find_op(op) if isinstance(op, str) else op
        check_arity(card, operands)
        for operand in flatten(operands):
            if operand not in self._digraph:
                raise PassError(f"graph @{self.name}", found=f"operand %{operand.name} of another graph")
        complete = complete_attributes(card, attributes or {})
        inferred = infer_type(card, operands, complete, body)
        number = self._next_number if place is None else place.number
        unique = self._free_name(name or card.name)
        return self._insert(Node(card, operands, complete, inferred, number, unique, source, inner=body))

    def replace(self, old: Node, new: Node, *, keep_name: bool = True) -> None:
        """Let every user of `old` read `new`, and erase `old`.

        `new` takes over name, place and source of `old` if it is no input or weight and `keep_name` holds.

        Raises:
            PassError: where the types differ, `old` is an input, or `new` is computed from `old`.
        """
        if old is new:
            return
        self._check_replacement(old, new)
        for user in self.users(old):
            self._set_operands(user, map_operands(user.operands, lambda n: new if n is old else n))
        self._outputs = tuple(new if output is old else output for output in self._outputs)
        name, number, source = old.name, old.number, old.source
        self.erase(old)
        if keep_name and not new.is_op("input", "weight"):
            self._rename(new, name)
            self._rewrite(new, number=number, source=new.source or source)
        self._order = None

    def erase(self, node: Node) -> None:
        """Remove a node that nothing reads.

        Raises:
            PassError: where something reads it, or it is an input of the signature.
        """
        if self.use_count(node):
            users = ", ".join(f"%{user.name}" for user in self.users(node)) or "return"
            raise PassError(f"erasing %{node.name}", found=f"it is read by {users}", expected="no users")
        if node.is_op("input"):
            raise PassError(
                f"erasing %{node.name}", found="an input", expected="inputs stay in the signature"
            )
        self._digraph.remove_node(node)
        del self._names[node.name]
        self._order = None

    def set_outputs(self, outputs: Iterable[Node]) -> None:
        """Say what the program returns."""
        self._outputs = tuple(outputs)
        self._order = None

    def copy(self) -> Graph:
        """A graph with the same text that shares no nodes (constants' arrays and bodies are shared)."""
        twin = Graph(self.name)
        twins: dict[Node, Node] = {}
        for node in (*self._inputs, *(n for n in self.nodes if not n.is_op("input"))):
            operands = map_operands(node.operands, lambda n: twins[n])
            twins[node] = twin._insert(replace(node, operands=operands))
        twin._inputs = [twins[node] for node in self._inputs]
        twin._outputs = tuple(twins[node] for node in self._outputs)
        twin._next_number = self._next_number
        return twin

    # -- inside ----------------------------------------------------------------------------------------------

    def _insert(self, node: Node) -> Node:
        self._next_number += 1
        self._names[node.name] = node
        self._digraph.add_node(node)
        self._add_edges(node)
        self._order = None
        return node

    def _leaf(self, op: str, name: str, type: TensorType, **fields: Any) -> Node:
        return self._insert(
            Node(find_op(op), (), Attributes(), type, self._next_number, self._free_name(name), **fields)
        )

    def _check_replacement(self, old: Node, new: Node) -> None:
        place = f"replacing %{old.name}"
        if old.is_op("input"):
            raise PassError(place, found="an input", expected="inputs stay in the signature")
        if new not in self:
            raise PassError(place, found=f"%{new.name} of another graph", expected="a value of the graph")
        if old.result_type != new.result_type:
            raise PassError(place, found=f"type {new.result_type}", expected=str(old.result_type))
        if self.depends_on(new, old):
            raise PassError(place, found=f"%{new.name}, which is computed from it", expected="another value")

    def _rewrite(self, node: Node, **fields: Any) -> None:
        """Change a frozen node: the one place where that happens."""
        for field, value in fields.items():
            object.__setattr__(node, field, value)

    def _add_edges(self, node: Node) -> None:
        for position, operand in enumerate(node.inputs):
            self._digraph.add_edge(operand, node, key=position)

    def _set_operands(self, node: Node, operands: Operands[Node]) -> None:
        self._digraph.remove_edges_from([*self._digraph.in_edges(node, keys=True)])
        self._rewrite(node, operands=operands)
        self._add_edges(node)
        self._order = None

    def _rename(self, node: Node, name: str) -> None:
        del self._names[node.name]
        self._rewrite(node, name=self._free_name(name))
        self._names[node.name] = node

    def _free_name(self, name: str) -> str:
        base = safe_name(name)
        if base not in self._names:
            return base
        stem = re.sub(r"_\d+$", "", base)
        number = 1
        while f"{stem}_{number}" in self._names:
            number += 1
        return f"{stem}_{number}"

    def _sort(self) -> tuple[Node, ...]:
        try:
            return tuple(nx.lexicographical_topological_sort(self._digraph, key=_number))
        except nx.NetworkXUnfeasible as error:
            raise PassError(
                f"graph @{self.name}", found="a cycle", expected="a directed acyclic graph"
            ) from error


def _number(node: Node) -> int:
    return node.number
