"""The ranges that an export declared for its dynamic dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from torch.export import ExportedProgram

from dlrmc.errors import FrontendError
from dlrmc.frontend.program import InputDim
from dlrmc.frontend.symbols import Sizes

# Smallest and largest size of an expression; None: no limit.
Ranges = Mapping[sympy.Expr, tuple[int | None, int | None]]
DeclaredShapes = Sequence[tuple[str, Sequence[Any]]]


def declared_ranges(program: ExportedProgram) -> Ranges:
    """The range of every symbol and derived size."""
    return {
        expression: (_finite(bounds.lower), _finite(bounds.upper))
        for expression, bounds in program.range_constraints.items()
    }


def _finite(bound: Any) -> int | None:
    # torch writes "no limit" as an infinity of its own, or as the largest size there is.
    if not getattr(bound, "is_finite", True) or not getattr(bound, "is_Integer", True):
        return None
    return int(bound) if abs(int(bound)) < 2**62 else None


def is_within(size: int, low: int | None, high: int | None) -> bool:
    """Whether a size is in a range; None: no limit."""
    return (low is None or low <= size) and (high is None or size <= high)


def range_text(name: object, low: int | None, high: int | None) -> str:
    """`2 <= s17 <= 64`, without the limits that there are not."""
    return f"{'' if low is None else f'{low} <= '}{name}{'' if high is None else f' <= {high}'}"


def check_ranges(declared: DeclaredShapes, bindings: Mapping[sympy.Symbol, int], ranges: Ranges) -> None:
    """Check the sizes of a request against the declared ranges.

    Raises:
        FrontendError: naming the first input whose size is outside.
    """
    for symbol, size in bindings.items():
        low, high = ranges.get(symbol, (None, None))
        if is_within(size, low, high):
            continue
        raise FrontendError(
            f"input {_first_place(declared, symbol)}",
            found=f"{symbol} = {size}",
            expected=range_text(symbol, low, high),
            hint="export again with a wider torch.export.Dim",
        )


def _first_place(declared: DeclaredShapes, symbol: sympy.Symbol) -> str:
    for path, shape in declared:
        for dim, size in enumerate(shape):
            if not isinstance(size, int) and symbol in size.node.expr.free_symbols:
                return f"{path}, dimension {dim}"
    return str(symbol)


def input_dims(declared: DeclaredShapes, sizes: Sizes, ranges: Ranges) -> tuple[InputDim, ...]:
    """Every dimension of every tensor input, fixed or dynamic."""
    return tuple(
        _input_dim(path, dim, size, sizes, ranges)
        for path, shape in declared
        for dim, size in enumerate(shape)
    )


def _input_dim(path: str, dim: int, size: Any, sizes: Sizes, ranges: Ranges) -> InputDim:
    if isinstance(size, int):
        return InputDim(path, dim, size)
    expression = size.node.expr
    low, high = ranges.get(expression, (None, None))
    return InputDim(path, dim, int(sizes.number(size)), str(expression), low, high)
