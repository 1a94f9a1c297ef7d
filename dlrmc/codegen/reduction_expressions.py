"""Reductions as loops: inside one thread, or over the lanes of a warp that all need the same result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dlrmc.codegen.expressions import ExpressionWriter, Handler, Indices
from dlrmc.codegen.index_expressions import Index, constant, unravel, variable
from dlrmc.codegen.scalar_types import COMPUTE_TYPES, literal, rounded
from dlrmc.ir.graph import Node
from dlrmc.ir.op import one, optional
from dlrmc.ir.types import DType

WARP_LANES = 32
# Below this many terms every lane adds them up for itself: five shuffles cost more.
SMALLEST_SHARED = 8

# In which dtype values are combined; a shuffle moves 4 or 8 bytes.
_ACCUMULATORS = MappingProxyType(
    {
        DType.F16: DType.F32,
        DType.BF16: DType.F32,
        DType.U8: DType.I32,
        DType.I8: DType.I32,
        DType.BOOL: DType.I32,
    }
)


@dataclass(frozen=True, slots=True)
class Fold:
    """One loop that combines terms.

    Args:
        label: what the result is called in the text.
        operator: Sum, Product, Maximum or Minimum of reduce.cuh.
        dtype: of the accumulator.
        count: number of terms.
        term: the expression of the term at a position below `count`, of the accumulator's type. It is called
            again after a rehearsal, so that it must ask each time for the folds that it needs itself.
        result: dtype of the result.
        finish: turns the accumulated value into the result; None where it is the result.
    """

    label: str
    operator: str
    dtype: DType
    count: int
    term: Callable[[Index], str]
    result: DType
    finish: Callable[[str], str] | None = None


def fold(writer: ExpressionWriter, node: Node, indices: Indices, reduction: Fold) -> str:
    """The result of a fold that belongs to `node` at `indices`, as the name of a local."""
    key = (node, indices, reduction.label)
    bound = writer.blocks.bound(key)
    if bound is not None:
        return bound
    variables = frozenset(name for index in indices for name in index.variables)
    if writer.hoist(variables, reduction.count, lambda: fold(writer, node, indices, reduction)):
        return "0"
    total = _accumulate(writer, node, reduction)
    if reduction.finish is not None:
        name = writer.blocks.free_name(f"v_{node.name}_{reduction.label}")
        writer.blocks.write(f"const {COMPUTE_TYPES[reduction.result]} {name} = {reduction.finish(total)};")
        total = name
    writer.blocks.bind(key, total)
    return total


def accumulator(dtype: DType) -> DType:
    """The dtype in which values of a dtype are combined."""
    return _ACCUMULATORS.get(dtype, dtype)


def _accumulate(writer: ExpressionWriter, node: Node, reduction: Fold) -> str:
    """Write the loop, and give the name of the accumulator."""
    blocks, count = writer.blocks, reduction.count
    total = blocks.free_name(f"{node.name}_{reduction.label}")
    blocks.write(f"{COMPUTE_TYPES[reduction.dtype]} {total} = {_identity(reduction)};")
    at = blocks.free_name("r")
    is_shared = blocks.is_uniform and bool(writer.lane) and count >= SMALLEST_SHARED

    def body() -> None:
        term = reduction.term(variable(at, count))
        blocks.write(f"{total} = {reduction.operator}::apply({total}, {term});")

    first, step = (writer.lane, f"{at} += {WARP_LANES}") if is_shared else ("0", f"++{at}")
    head = f"for (int {at} = {first}; {at} < {count}; {step})"
    writer.loop(head, at, body, is_uniform=blocks.is_uniform and not is_shared)
    if is_shared:
        blocks.write(f"{total} = warp_reduce<{reduction.operator}>({total});")
    return total


def _converted(expression: str, dtype: DType, to: DType) -> str:
    """A compute value of a dtype as one of another."""
    source, target = COMPUTE_TYPES[dtype], COMPUTE_TYPES[to]
    return expression if source == target else f"static_cast<{target}>({expression})"


def _identity(reduction: Fold) -> str:
    """The literal that no term changes."""
    numpy_dtype = reduction.dtype.numpy
    match reduction.operator:
        case "Sum":
            value = np.zeros((), numpy_dtype)
        case "Product":
            value = np.ones((), numpy_dtype)
        case "Maximum":
            value = np.array(_limits(reduction.dtype)[0], numpy_dtype)
        case _:
            value = np.array(_limits(reduction.dtype)[1], numpy_dtype)
    return literal(value, reduction.dtype)


def _limits(dtype: DType) -> tuple[float | int, float | int]:
    """The least and the largest value of an accumulator's dtype."""
    if dtype.is_float:
        return -np.inf, np.inf
    bits = 8 * dtype.size_bytes - 1
    return -(2**bits), 2**bits - 1


def _reduce(
    writer: ExpressionWriter, node: Node, indices: Indices, operator: str, is_mean: bool = False
) -> str:
    x, dims = one(node.operands[0]), node.attributes.ints("dims")
    sizes = tuple(x.shape[dim] for dim in dims)
    count = math.prod(sizes)
    kept = _kept(indices, x.type.rank, dims, node.attributes.bool("keepdim"))
    result, dtype = node.type.dtype, accumulator(node.type.dtype)

    def term(position: Index) -> str:
        inner = dict(zip(dims, unravel(position, sizes), strict=True))
        at = tuple(inner[dim] if dim in inner else kept[dim] for dim in range(x.type.rank))
        return _converted(writer.value(x, at), x.type.dtype, dtype)

    def finish(total: str) -> str:
        value = _mean(total, count, dtype) if is_mean else total
        return rounded(_converted(value, dtype, result), result)

    is_finished = not is_mean and result is dtype
    reduction = Fold(node.op.name, operator, dtype, count, term, result, None if is_finished else finish)
    return fold(writer, node, indices, reduction)


def _mean(total: str, count: int, dtype: DType) -> str:
    """The mean of `count` terms; of none it is NaN, as in torch."""
    value = np.array(count or np.nan, dtype.numpy)
    return f"{total} / {literal(value, dtype)}"


def _kept(indices: Indices, rank: int, dims: tuple[int, ...], keepdim: bool) -> dict[int, Index]:
    """The indices of the operand's dimensions that are not reduced."""
    if keepdim:
        return {dim: indices[dim] for dim in range(rank) if dim not in dims}
    rest = iter(indices)
    return {dim: next(rest) for dim in range(rank) if dim not in dims}


def _softmax(writer: ExpressionWriter, node: Node, indices: Indices) -> str:
    x, dim = one(node.operands[0]), node.attributes.int("dim")
    compute = accumulator(node.type.dtype)
    suffix = "" if compute is DType.F64 else "f"
    count = x.shape[dim] if x.shape else 1
    row = _at(indices, dim, constant(0))

    def element(position: Index) -> str:
        return writer.value(x, _at(indices, dim, position))

    def largest() -> str:
        return fold(writer, node, row, Fold("max", "Maximum", compute, count, element, compute))

    def power(position: Index) -> str:
        return f"exp{suffix}({element(position)} - {largest()})"

    largest()
    total = fold(writer, node, row, Fold("total", "Sum", compute, count, power, compute))
    value = writer.value(x, indices)
    if node.is_op("log_softmax"):
        expression = f"({value} - {largest()}) - log{suffix}({total})"
    else:
        expression = f"exp{suffix}({value} - {largest()}) / {total}"
    return writer.bind(node, indices, rounded(expression, node.type.dtype))


def _at(indices: Indices, dim: int, index: Index) -> Indices:
    return (*indices[:dim], index, *indices[dim + 1 :]) if indices else ()


def _layer_norm(writer: ExpressionWriter, node: Node, indices: Indices) -> str:
    x = one(node.operands[0])
    compute = accumulator(node.type.dtype)
    suffix = "" if compute is DType.F64 else "f"
    count = x.shape[-1]
    length = literal(np.array(count, compute.numpy), compute)
    epsilon = literal(np.array(node.attributes.float("eps"), compute.numpy), compute)
    one_literal = literal(np.ones((), compute.numpy), compute)
    row = (*indices[:-1], constant(0))

    def element(position: Index) -> str:
        return writer.value(x, (*indices[:-1], position))

    def mean() -> str:
        reduction = Fold("mean", "Sum", compute, count, element, compute, lambda total: f"{total} / {length}")
        return fold(writer, node, row, reduction)

    def square(position: Index) -> str:
        centred = f"({element(position)} - {mean()})"
        return f"{centred} * {centred}"

    def inverse_deviation(total: str) -> str:
        return f"{one_literal} / sqrt{suffix}({total} / {length} + {epsilon})"

    mean()
    scale = fold(writer, node, row, Fold("scale", "Sum", compute, count, square, compute, inverse_deviation))
    expression = f"({writer.value(x, indices)} - {mean()}) * {scale}"
    weight, bias = optional(node.operands[1]), optional(node.operands[2])
    if weight is not None:
        expression = f"{expression} * {writer.value(weight, indices[-1:])}"
    if bias is not None:
        expression = f"{expression} + {writer.value(bias, indices[-1:])}"
    return writer.bind(node, indices, rounded(expression, node.type.dtype))


REDUCTIONS: Mapping[str, Handler] = MappingProxyType(
    {
        "sum": lambda writer, node, indices: _reduce(writer, node, indices, "Sum"),
        "mean": lambda writer, node, indices: _reduce(writer, node, indices, "Sum", is_mean=True),
        "prod": lambda writer, node, indices: _reduce(writer, node, indices, "Product"),
        "amax": lambda writer, node, indices: _reduce(writer, node, indices, "Maximum"),
        "amin": lambda writer, node, indices: _reduce(writer, node, indices, "Minimum"),
        "softmax": _softmax,
        "log_softmax": _softmax,
        "layer_norm": _layer_norm,
    }
)
