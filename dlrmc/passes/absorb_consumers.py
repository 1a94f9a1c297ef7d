"""Readers of all the rows of one value, one by one, read the value itself.

An embedding_bag_group stands as [B, T, D]; its bags are selects. A cat, pairwise_dot or linear that lists
several of them in order takes the group, or the part of it, instead: one operand, and no copy for the cat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import one
from dlrmc.passes.builder import Builder
from dlrmc.passes.pass_types import PassResult

# Makes of the value, and of the first and the end of the run of rows, what the reader takes instead.
_Join = Callable[[Builder, Node, range], Node]


def run(graph: Graph) -> PassResult:
    """Let every run of two or more rows in the operand list of a reader be one operand."""
    absorbed = 0
    for node in graph.nodes:
        join = _join_of(node)
        if join is not None:
            absorbed += _absorb(graph, node, join)
    return PassResult.of({"rows": absorbed})


def _join_of(reader: Node) -> _Join | None:
    match reader.op.name:
        case "pairwise_dot":
            return _as_features
        case "linear":
            return _as_columns
        case "cat" if reader.attributes.int("dim") == 1 and reader.type.rank == 2:
            return _as_columns
        case "cat" if reader.attributes.int("dim") == 1 and reader.type.rank == 3:
            return _as_features
        case _:
            return None


def _absorb(graph: Graph, reader: Node, join: _Join) -> int:
    """Rewrite one reader; the number of rows that no longer are operands of their own."""
    builder = Builder(graph, reader)
    items: list[Node] = []
    absorbed = 0
    for run_of_rows in _runs(cast("tuple[Node, ...]", reader.operands[0])):
        place = _row(run_of_rows[0])
        if len(run_of_rows) == 1 or place is None:
            items.extend(run_of_rows)
            continue
        source, first = place
        items.append(join(builder, source, range(first, first + len(run_of_rows))))
        absorbed += len(run_of_rows)
    if not absorbed:
        return 0
    if reader.is_op("cat") and len(items) == 1:
        graph.replace(reader, items[0], keep_name=items[0] in builder.created)
    else:
        new = builder.op(reader.op.name, tuple(items), *reader.operands[1:], **reader.attributes)
        graph.replace(reader, new)
    return absorbed


def _row(value: Node) -> tuple[Node, int] | None:
    """The value [B, T, D] and the k for which `value` is its row k, as [B, D] or [B, 1, D]; else None."""
    row = value
    if row.is_op("view") and row.type.rank == 3 and row.shape[1] == 1:
        row = one(row.operands[0])
    if not row.is_op("select") or row.type.rank != 2 or row.attributes.int("dim") != 1:
        return None
    if (row.shape[0], row.shape[1]) != (value.shape[0], value.shape[-1]):
        return None
    return one(row.operands[0]), row.attributes.int("index")


def _runs(items: tuple[Node, ...]) -> list[list[Node]]:
    """The items, those together that are rows k, k + 1, ... of one value."""
    runs: list[list[Node]] = []
    expected: tuple[Node, int] | None = None
    for item in items:
        place = _row(item)
        if place is not None and place == expected:
            runs[-1].append(item)
        else:
            runs.append([item])
        expected = None if place is None else (place[0], place[1] + 1)
    return runs


def _as_features(builder: Builder, source: Node, rows: range) -> Node:
    """Rows as [B, n, D]."""
    if len(rows) == source.shape[1]:
        return source
    return builder.slice(source, dim=1, start=rows.start, stop=rows.stop)


def _as_columns(builder: Builder, source: Node, rows: range) -> Node:
    """Rows side by side as [B, n * D]."""
    part = _as_features(builder, source, rows)
    return builder.view(part, (part.shape[0], part.shape[1] * part.shape[2]))
