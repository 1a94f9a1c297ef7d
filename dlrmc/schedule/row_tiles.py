"""The body of a row program cut down to one tile: the same ops on `rows` rows instead of the whole batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dlrmc.errors import PassError
from dlrmc.ir.attributes import Attribute
from dlrmc.ir.bag_tables import BAG_OPS, SINGLE_BAG_OPS, Bags, bags_of
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Operands, map_operands
from dlrmc.ir.rows import UNIFORM, Rows
from dlrmc.ir.strided import VIEW_OPS
from dlrmc.passes.row_tags import tag_rows

# How a tile reads an operand of its kernel: its own rows, all of it, or from its own rows' offsets on.
Role = Literal["rows", "whole", "offsets", "ends"]


@dataclass(frozen=True)
class TileOperand:
    """One input of a tile graph.

    Args:
        operand: the place among the kernel's operands.
        role: "rows" starts at the tile's first row, "whole" is read from its beginning, "offsets" holds the
            begins of the rows' bags, and "ends" one more.
        per_row: how many entries of the leading dimension belong to a row; 0 for "whole".
    """

    operand: int
    role: Role
    per_row: int


@dataclass(frozen=True)
class Tile:
    """A row program's body for one tile.

    Args:
        graph: the body with the batch replaced by `rows`.
        operands: what each of its inputs stands for.
        rows: rows of a tile; the last may be partly filled.
        batch: rows in all.
    """

    graph: Graph
    operands: Mapping[Node, TileOperand]
    rows: int
    batch: int

    @property
    def count(self) -> int:
        """How many tiles cover the batch."""
        return -(-self.batch // self.rows)


def uniform_inputs(kernel: Node) -> frozenset[Node]:
    """The inputs of a kernel's body that stand for weights, constants and derived values."""
    return frozenset(
        inner for inner, outer in kernel.outer.items() if outer.is_op("weight", "const", "derive")
    )


def cut_tile(kernel: Node, rows: int) -> Tile:
    """Rebuild the body of a row program for tiles of `rows` rows.

    Raises:
        PassError: where the body is not row-local.
    """
    return _Cutter(kernel, rows).run()


class _Cutter:
    def __init__(self, kernel: Node, rows: int) -> None:
        self._kernel = kernel
        self._batch = kernel.attributes.int("batch")
        self._rows = rows
        self._graph = Graph("tile")
        self._tags = tag_rows(kernel.body, self._batch, uniform_inputs(kernel))
        self._twins: dict[Node, Node] = {}
        self._inputs: dict[tuple[Node, Role], Node] = {}
        self._operands: dict[Node, TileOperand] = {}

    def run(self) -> Tile:
        body = self._kernel.body
        for node in body.nodes:
            if node.is_op("const"):
                self._twins[node] = self._graph.const(node.name, node.value, node.type)
            elif not node.is_op("input"):
                self._twins[node] = self._cut(node)
        self._graph.set_outputs([self._value(node) for node in body.outputs])
        return Tile(self._graph, self._operands, self._rows, self._batch)

    def _cut(self, node: Node) -> Node:
        if node.is_op(*VIEW_OPS) and self._tags[node] is UNIFORM:
            operands = map_operands(node.operands, self._value)
            return self._graph.add(node.op, operands, node.attributes, name=node.name, source=node.source)
        if not isinstance(self._tags[node], Rows):
            raise PassError(
                f"row program %{self._kernel.name}",
                found=f"%{node.name} = {node.op.name} is {self._tags[node]}",
                expected="row-local ops only",
            )
        if node.is_op(*BAG_OPS) and any(bags.offsets is not None for bags in bags_of(node)):
            operands = self._bag_operands(node)
        else:
            operands = map_operands(node.operands, self._value)
        return self._graph.add(node.op, operands, self._attributes(node), name=node.name, source=node.source)

    def _attributes(self, node: Node) -> Mapping[str, Attribute]:
        if not node.is_op("view", "expand"):
            return node.attributes
        shape = node.attributes.ints("shape")
        return {"shape": (shape[0] // self._batch * self._rows, *shape[1:])}

    def _value(self, node: Node) -> Node:
        """The twin of a value; an input is read by rows if it has rows."""
        if not node.is_op("input"):
            return self._twins[node]
        return self._input(node, "rows" if isinstance(self._tags[node], Rows) else "whole")

    def _bag_operands(self, node: Node) -> Operands[Node]:
        """Operands of bags: jagged ids and their weights are read whole, offsets one a row."""
        columns = tuple(zip(*map(self._one_bag_operands, bags_of(node)), strict=True))
        return tuple(each[0] for each in columns) if node.is_op(*SINGLE_BAG_OPS) else columns

    def _one_bag_operands(self, bags: Bags) -> tuple[Node, Node | None, Node | None, Node | None]:
        is_jagged = bags.offsets is not None
        return (
            self._value(bags.table),
            self._ids(bags.ids, is_jagged=is_jagged),
            self._offsets(bags.offsets, bags.options.include_last_offset),
            self._ids(bags.weights, is_jagged=is_jagged),
        )

    def _ids(self, node: Node | None, *, is_jagged: bool) -> Node | None:
        if node is None:
            return None
        return self._input(node, "whole") if is_jagged else self._value(node)

    def _offsets(self, node: Node | None, is_last_included: bool) -> Node | None:
        if node is None:
            return None
        role: Role = "ends" if is_last_included else "offsets"
        return self._input(node, role)

    def _input(self, node: Node, role: Role) -> Node:
        """The tile's own input for one way of reading an operand; an operand read in two ways has two."""
        if not node.is_op("input"):
            raise PassError(
                f"row program %{self._kernel.name}",
                found=f"ids or offsets %{node.name} are computed in it",
                expected="operands of the kernel",
            )
        if (node, role) in self._inputs:
            return self._inputs[node, role]
        per_row, leading = self._leading(node, role)
        shape = node.shape if role == "whole" else (leading, *node.shape[1:])
        twin = self._graph.input(node.name, node.type.with_shape(shape))
        place = self._kernel.body.inputs.index(node)
        self._operands[twin] = TileOperand(place, role, per_row)
        self._inputs[node, role] = twin
        return twin

    def _leading(self, node: Node, role: Role) -> tuple[int, int]:
        """Entries a row, and the size of a tile's leading dimension."""
        tag = self._tags[node]
        match role:
            case "rows":
                per_row = tag.per_row if isinstance(tag, Rows) else 0
                return per_row, per_row * self._rows
            case "offsets":
                per_row = node.shape[0] // self._batch
                return per_row, per_row * self._rows
            case "ends":
                per_row = (node.shape[0] - 1) // self._batch
                return per_row, per_row * self._rows + 1
            case _:
                return 0, 0
