"""Dynamic sizes that are numbers of ids: sizes that nothing but embedding bags sees.

The ids of a bag are found through offsets, so how many ids there are decides no other size of a program. Such
a number can come with each call; every other size is part of what is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy
import torch
from torch import fx
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from dlrmc.frontend.liveness import live_nodes

# By the names under which they stand at canon; the first result alone does not show the number of ids.
BAG_TARGETS = (
    "aten.embedding_bag.padding_idx",
    "aten._embedding_bag.default",
    "aten._embedding_bag_forward_only.default",
    "quantized.embedding_bag_byte_rowwise_offsets.default",
    "quantized.embedding_bag_4bit_rowwise_offsets.default",
)


def id_count_symbols(canon: ExportedProgram, shapes: Sequence[Sequence[Any]]) -> frozenset[sympy.Symbol]:
    """The symbols of sizes that may differ from call to call without any other change.

    Args:
        canon: a program at canon.
        shapes: of its tensor inputs; a dynamic size is a SymInt.
    """
    sizes = [_symbols(shape) for shape in shapes]
    vectors = {symbol for shape in shapes if len(shape) == 1 for symbol in _plain_symbol(shape[0])}
    elsewhere = {
        symbol
        for shape, symbols in zip(shapes, sizes, strict=True)
        for symbol in symbols
        if len(shape) != 1 or not _plain_symbol(shape[0])
    }
    live = [node for node in live_nodes(list(canon.graph.nodes)) if not _is_blind(node)]
    seen = {symbol for node in live for symbol in _node_symbols(node)}
    return frozenset(vectors - elsewhere - seen)


def counted_inputs(shapes: Sequence[Sequence[Any]], symbols: frozenset[sympy.Symbol]) -> tuple[int, ...]:
    """The numbers of the tensor inputs whose size is one of the symbols."""
    return tuple(
        number for number, shape in enumerate(shapes) if len(shape) == 1 and symbols & _plain_symbol(shape[0])
    )


def _plain_symbol(size: Any) -> frozenset[sympy.Symbol]:
    """The symbol that a size is, alone; nothing where it is a number or an expression."""
    expression = None if isinstance(size, int) else size.node.expr
    return frozenset([expression]) if isinstance(expression, sympy.Symbol) else frozenset()


def _is_blind(node: fx.Node) -> bool:
    """Whether what comes out of a node does not depend on how many ids there are, whatever its type says."""
    return node.op == "placeholder" or str(node.target) in BAG_TARGETS


def _node_symbols(node: fx.Node) -> Iterator[sympy.Symbol]:
    for value in pytree.tree_leaves(node.meta.get("val")):
        if isinstance(value, torch.Tensor):
            yield from _symbols(value.shape)
        elif isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            yield from _free(value)


def _symbols(shape: Sequence[Any]) -> frozenset[sympy.Symbol]:
    return frozenset(symbol for size in shape if not isinstance(size, int) for symbol in _free(size))


def _free(value: Any) -> Iterator[sympy.Symbol]:
    # By name, so that the order of a set decides nothing.
    yield from sorted(value.node.expr.free_symbols, key=str)
