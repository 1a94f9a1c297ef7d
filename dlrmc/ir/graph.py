"""The graph: typed nodes on a networkx.MultiDiGraph, and the only writer of its edges.

`node.operands` is the truth and the edges mirror it. `Graph.add`, `Graph.replace` and `Graph.erase` are the only
functions that write either; `dlrmc.ir.verify` compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import networkx as nx
import numpy as np

from dlrmc.errors import PassError, TypeRuleError
from dlrmc.ir.attributes import Attribute, Attributes
from dlrmc.ir.op import Array, Op, Operands, check_arity, complete_attributes, flatten, map_operands
from dlrmc.ir.ops import find_op
from dlrmc.ir.types import DType, TensorType, TupleType, Type

LEAVES = ("input", "weight", "const")


class Node:
    """One value of a graph and the op that makes it. Read-only outside of Graph; compared by identity."""

    __slots__ = (
        "_attributes",
        "_body",
        "_name",
        "_number",
        "_op",
        "_operands",
        "_source",
        "_target",
        "_type",
        "_value",
    )

    def __init__(
        self,
        op: Op,
        operands: Operands[Node],
        attributes: Attributes,
        type: Type,
        *,
        number: int,
        name: str,
        source: str = "",
        target: str = "",
        value: Array | None = None,
        body: Graph | None = None,
    ) -> None:
        self._op = op
        self._operands = operands
        self._attributes = attributes
        self._type = type
        self._number = number
        self._name = name
        self._source = source
        self._target = target
        self._value = value
        self._body = body

    @property
    def op(self) -> Op:
        """The op card."""
        return self._op

    @property
    def operands(self) -> Operands[Node]:
        """The operands, in the structure that the card declares."""
        return self._operands

    @property
    def attributes(self) -> Attributes:
        """The attributes, defaults filled in."""
        return self._attributes

    @property
    def result_type(self) -> Type:
        """The type, which is a TupleType for a kernel with several results."""
        return self._type

    @property
    def type(self) -> TensorType:
        """The tensor type.

        Raises:
            TypeRuleError: for a kernel with several results, whose parts are read with `item`.
        """
        if isinstance(self._type, TupleType):
            raise TypeRuleError(f"%{self._name}", found=f"type {self._type}", expected="a single tensor")
        return self._type

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.type.shape

    @property
    def number(self) -> int:
        """The insertion number that breaks ties in the topological order."""
        return self._number

    @property
    def name(self) -> str:
        """The name without the percent sign, unique in the graph."""
        return self._name

    @property
    def source(self) -> str:
        """The user's source line, or an empty string."""
        return self._source

    @property
    def target(self) -> str:
        """The state-dict name of a weight; empty for others."""
        return self._target

    @property
    def value(self) -> Array:
        """The read-only array of a const.

        Raises:
            TypeRuleError: where the node is no const.
        """
        if self._value is None:
            raise TypeRuleError(f"%{self._name}", found=f"op {self._op.name}", expected="a const")
        return self._value

    @property
    def body(self) -> Graph:
        """The IR inside a kernel or derive node.

        Raises:
            TypeRuleError: where the node has no body.
        """
        if self._body is None:
            raise TypeRuleError(f"%{self._name}", found=f"op {self._op.name}", expected="an op with a body")
        return self._body

    @property
    def has_body(self) -> bool:
        """Whether the node is a kernel or a derive."""
        return self._body is not None

    @property
    def inputs(self) -> tuple[Node, ...]:
        """All present operand values in textual order, lists flattened."""
        return flatten(self._operands)

    def is_op(self, *names: str) -> bool:
        """Whether the op has one of these names."""
        return self._op.name in names

    def __repr__(self) -> str:
        return f"%{self._name} = {self._op.name} : {self._type}"


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
        """A read-only view of the networkx graph: an edge from each operand to its user, keyed by position."""
        return nx.freeze(self._digraph.copy(as_view=True))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

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

    def operand_edges(self, node: Node) -> tuple[Node, ...]:
        """The sources of the node's incoming networkx edges, by position."""
        edges = self._digraph.in_edges(node, keys=True)
        return tuple(source for source, _, _ in sorted(edges, key=lambda edge: edge[2]))

    def users(self, node: Node) -> tuple[Node, ...]:
        """The distinct nodes that read the value, by insertion number."""
        return tuple(sorted(self._digraph.successors(node), key=lambda user: user.number))

    def use_count(self, node: Node) -> int:
        """How many operand places and outputs read the value."""
        return self._digraph.out_degree(node) + sum(output is node for output in self._outputs)

    def depends_on(self, node: Node, ancestor: Node) -> bool:
        """Whether a path runs from `ancestor` to `node`."""
        return nx.has_path(self._digraph, ancestor, node)

    # -- writing ---------------------------------------------------------------------------------------------

    def input(self, name: str, type: TensorType) -> Node:
        """Append an input to the signature."""
        node = self._insert("input", (), Attributes(), type, name=name)
        self._inputs.append(node)
        return node

    def weight(self, name: str, type: TensorType, target: str) -> Node:
        """Add a weight that is bound at load to the state-dict entry `target`."""
        return self._insert("weight", (), Attributes(), type, name=name, target=target)

    def const(self, name: str, value: Array, type: TensorType | None = None) -> Node:
        """Add a constant; the array is copied and made read-only."""
        kept = np.array(value, copy=True, order="C")
        kept.flags.writeable = False
        kept_type = type or TensorType(DType.of_numpy(kept.dtype), kept.shape)
        if kept.shape != kept_type.shape or kept.dtype != kept_type.dtype.numpy:
            raise TypeRuleError(
                f"const %{name}", found=f"an array {kept.dtype}{list(kept.shape)}", expected=str(kept_type)
            )
        return self._insert("const", (), Attributes(), kept_type, name=name, value=kept)

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
        node = self._insert(
            card.name, operands, complete, inferred, name=name or card.name, source=source, body=body, op=card
        )
        if place is not None:
            node._number = place.number
        return node

    def replace(self, old: Node, new: Node, *, keep_name: bool = True) -> None:
        """Let every user of `old` read `new`, and erase `old`.

        `new` takes over the name, place and source of `old` if it is no leaf and `keep_name` holds.

        Raises:
            PassError: where the types differ or `old` is an input.
        """
        if old is new:
            return
        if old.result_type != new.result_type:
            raise PassError(
                f"replacing %{old.name}", found=f"type {new.result_type}", expected=str(old.result_type)
            )
        for user in self.users(old):
            self._set_operands(user, map_operands(user.operands, lambda n: new if n is old else n))
        self._outputs = tuple(new if output is old else output for output in self._outputs)
        name, number, source = old.name, old.number, old.source
        self.erase(old)
        if keep_name and not new.is_op(*LEAVES):
            self._rename(new, name)
            new._number = number
            new._source = new.source or source
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
            raise PassError(f"erasing %{node.name}", found="an input", expected="inputs stay in the signature")
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
            twins[node] = twin._insert(
                node.op.name,
                map_operands(node.operands, lambda n: twins[n]),
                node.attributes,
                node.result_type,
                name=node.name,
                source=node.source,
                target=node.target,
                value=node._value,
                body=node._body,
                op=node.op,
            )
            twins[node]._number = node.number
        twin._inputs = [twins[node] for node in self._inputs]
        twin._outputs = tuple(twins[node] for node in self._outputs)
        twin._next_number = self._next_number
        return twin

    # -- inside ----------------------------------------------------------------------------------------------

    def _insert(
        self,
        op_name: str,
        operands: Operands[Node],
        attributes: Attributes,
        type: Type,
        *,
        name: str,
        source: str = "",
        target: str = "",
        value: Array | None = None,
        body: Graph | None = None,
        op: Op | None = None,
    ) -> Node:
        node = Node(
            op or find_op(op_name),
            operands,
            attributes,
            type,
            number=self._next_number,
            name=self._free_name(name),
            source=source,
            target=target,
            value=value,
            body=body,
        )
        self._next_number += 1
        self._names[node.name] = node
        self._digraph.add_node(node)
        self._add_edges(node)
        self._order = None
        return node

    def _add_edges(self, node: Node) -> None:
        for position, operand in enumerate(node.inputs):
            self._digraph.add_edge(operand, node, key=position)

    def _set_operands(self, node: Node, operands: Operands[Node]) -> None:
        self._digraph.remove_edges_from([*self._digraph.in_edges(node, keys=True)])
        node._operands = operands
        self._add_edges(node)
        self._order = None

    def _rename(self, node: Node, name: str) -> None:
        del self._names[node.name]
        node._name = self._free_name(name)
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
            return tuple(nx.lexicographical_topological_sort(self._digraph, key=lambda node: node.number))
        except nx.NetworkXUnfeasible as error:
            raise PassError(f"graph @{self.name}", found="a cycle", expected="a directed acyclic graph") from error


def safe_name(name: str) -> str:
    """The name with every character that IR text does not allow turned into an underscore."""
    safe = re.sub(r"[^A-Za-z0-9_]", "_", name) or "value"
    return f"_{safe}" if safe[0].isdigit() else safe



def infer_type(op: Op, operands: Operands[Node], attributes: Attributes, body: Graph | None) -> Type:
    """The type of a node: by the op's card, or by the body where there is one.

    Raises:
        TypeRuleError: where the operands do not fit the card or the body's inputs.
    """
    if op.name == "item":
        return _item_type(op, flatten(operands)[0].result_type, attributes.int("index"))
    if body is None:
        return op.infer(map_operands(operands, lambda node: node.type), attributes)
    given = [node.type for node in flatten(operands)]
    wanted = [node.type for node in body.inputs]
    if given != wanted:
        found = f"operands of types {', '.join(map(str, given))}"
        raise op.fail(found, f"the body's {', '.join(map(str, wanted))}")
    results = tuple(node.type for node in body.outputs)
    return results[0] if len(results) == 1 else TupleType(results)


def _item_type(op: Op, kernel_type: Type, index: int) -> TensorType:
    if not isinstance(kernel_type, TupleType) or not 0 <= index < len(kernel_type.items):
        raise op.fail(f"item {index} of {kernel_type}", "an index into a kernel with several results")
    return kernel_type.items[index]
