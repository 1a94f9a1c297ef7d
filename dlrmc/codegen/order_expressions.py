"""Ops in which the order of the elements counts, for short dimensions: each element has loops of its own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from dlrmc.codegen.expressions import ExpressionWriter, Handler, Indices
from dlrmc.codegen.index_expressions import Index, render, variable
from dlrmc.codegen.reduction_expressions import Fold, accumulator, fold
from dlrmc.codegen.scalar_types import COMPUTE_TYPES, literal, rounded
from dlrmc.ir.graph import Node
from dlrmc.ir.op import one


def _argsort(writer: ExpressionWriter, node: Node, indices: Indices) -> str:
    """Selection: the first of all, then the first of those after it, and so on to the position wanted."""
    x, dim = one(node.operands[0]), node.attributes.int("dim")
    variables = frozenset(name for index in indices for name in index.variables)
    if writer.hoist(variables, x.shape[dim], lambda: _argsort(writer, node, indices)):
        return "0"
    blocks = writer.blocks
    place, last = blocks.free_name(f"{node.name}_place"), blocks.free_name(f"{node.name}_last")
    kind = COMPUTE_TYPES[x.type.dtype]
    zero = literal(np.zeros((), x.type.dtype.numpy), x.type.dtype)
    blocks.write(f"int {place} = -1;", f"{kind} {last} = {zero};")
    step = blocks.free_name("s")

    def take_next() -> None:
        following, best = blocks.free_name(f"{node.name}_next"), blocks.free_name(f"{node.name}_best")
        blocks.write(f"int {following} = -1;", f"{kind} {best} = {zero};")
        at = blocks.free_name("r")

        def compare() -> None:
            value = writer.value(x, _at(indices, dim, variable(at, x.shape[dim])))
            before = f"sorts_before<{'true' if node.attributes.bool('descending') else 'false'}>"
            is_left = f"{before}({last}, {value}) || (!{before}({value}, {last}) && {at} > {place})"
            is_first = f"{following} < 0 || {before}({value}, {best})"
            with blocks.block(f"if (({place} < 0 || {is_left}) && ({is_first}))"):
                blocks.write(f"{following} = {at};", f"{best} = {value};")

        head = f"for (int {at} = 0; {at} < {x.shape[dim]}; ++{at})"
        writer.loop(head, at, compare, is_uniform=blocks.is_uniform)
        blocks.write(f"{place} = {following};", f"{last} = {best};")

    head = f"for (int {step} = 0; {step} <= {render(indices[dim])}; ++{step})"
    writer.loop(head, step, take_next, is_uniform=blocks.is_uniform)
    return writer.bind(node, indices, place)


def _running(operator: str) -> Handler:
    """The fold of the terms up to the element's own position; what stands behind it changes nothing."""

    def handler(writer: ExpressionWriter, node: Node, indices: Indices) -> str:
        x, dim = one(node.operands[0]), node.attributes.int("dim")
        dtype = accumulator(node.type.dtype)
        neutral = literal(np.array(operator == "Product", dtype.numpy), dtype)
        position = render(indices[dim])

        def term(at: Index) -> str:
            value = writer.value(x, _at(indices, dim, at))
            return f"{render(at)} <= {position} ? static_cast<{COMPUTE_TYPES[dtype]}>({value}) : {neutral}"

        def finish(total: str) -> str:
            return rounded(total, node.type.dtype)

        running = Fold("running", operator, dtype, x.shape[dim], term, node.type.dtype, finish)
        return fold(writer, node, indices, running)

    return handler


def _at(indices: Indices, dim: int, index: Index) -> Indices:
    return (*indices[:dim], index, *indices[dim + 1 :])


ORDERS: Mapping[str, Handler] = MappingProxyType(
    {"argsort": _argsort, "cumsum": _running("Sum"), "cumprod": _running("Product")}
)
