"""Symbolic sizes of a dynamic export, evaluated for one set of input shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch

from dlrmc.errors import FrontendError
from dlrmc.frontend.refusal import Refused


class Sizes:
    """Evaluates symbolic sizes. A size that is already an int passes through."""

    def __init__(self, bindings: Mapping[sympy.Symbol, int]) -> None:
        self._bindings = dict(bindings)
        self._known: dict[sympy.Expr, Any] = {}

    def number(self, value: Any) -> Any:
        """The Python number or bool behind an int, float, bool, SymInt, SymFloat or SymBool.

        Raises:
            Refused: where the value depends on what a tensor holds.
        """
        if not isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            return value
        expression = value.node.expr
        if expression not in self._known:
            self._known[expression] = self._evaluate(expression)
        return self._known[expression]

    def learn(self, value: Any, size: int) -> None:
        """Take over what a size is that torch could not tell: that of a selection by a constant mask."""
        if not isinstance(value, torch.SymInt):
            return
        expression = value.node.expr
        if expression.is_Symbol and expression not in self._bindings:
            self._bindings[expression] = size

    def are_known(self, shape: Sequence[Any]) -> bool:
        """Whether every size of a shape is a number by now."""
        symbols = [size.node.expr.free_symbols for size in shape if not isinstance(size, int)]
        return all(symbol in self._bindings for free in symbols for symbol in free)

    def shape(self, shape: Sequence[Any]) -> tuple[int, ...]:
        """The shape with every size a number."""
        return tuple(int(self.number(size)) for size in shape)

    def _evaluate(self, expression: Any) -> Any:
        result = sympy.sympify(expression).subs(self._bindings)
        unknown = sorted(str(symbol) for symbol in result.free_symbols)
        if unknown:
            raise Refused(f"a size ({result}) depends on the values in a tensor ({', '.join(unknown)})")
        if result in (sympy.true, sympy.false):
            return bool(result)
        return int(result) if result.is_integer else float(result)


def bind_symbols(
    declared: Sequence[tuple[str, Sequence[Any]]], given: Sequence[Sequence[int]] | None
) -> dict[sympy.Symbol, int]:
    """Solve the symbols in the inputs' declared shapes from given shapes.

    Args:
        declared: path and shape (ints and SymInts) of every tensor input.
        given: the shape of every tensor input, or None for a program without dynamic dimensions.

    Raises:
        FrontendError: shapes are missing, of the wrong number or rank, or disagree with each other.
    """
    dynamic = [
        f"{path}[{d}]" for path, shape in declared for d, s in enumerate(shape) if not isinstance(s, int)
    ]
    if given is None and dynamic:
        raise FrontendError(
            "exported program",
            found=f"dynamic dimensions {', '.join(dynamic)}",
            expected="input_shapes=, one shape for each tensor input",
        )
    if given is None:
        return {}
    pairs = _pairs(declared, given)
    bindings: dict[sympy.Symbol, int] = {}
    # Plain symbols first: derived sizes such as s17 + 1 are then only checked.
    for _place, expression, size in pairs:
        if expression.is_Symbol:
            bindings.setdefault(expression, size)
    for place, expression, size in pairs:
        _solve(place, expression, size, bindings)
    return bindings


def _pairs(
    declared: Sequence[tuple[str, Sequence[Any]]], given: Sequence[Sequence[int]]
) -> list[tuple[str, Any, int]]:
    if len(declared) != len(given):
        raise FrontendError(
            "input_shapes",
            found=f"{len(given)} shapes",
            expected=f"{len(declared)}, one for each tensor input",
        )
    pairs: list[tuple[str, Any, int]] = []
    for (path, shape), sizes in zip(declared, given, strict=True):
        if len(shape) != len(sizes):
            raise FrontendError(
                f"input {path}",
                found=f"rank {len(sizes)}",
                expected=f"rank {len(shape)}, shape {list(shape)}",
            )
        for dim, (symbolic, size) in enumerate(zip(shape, sizes, strict=True)):
            expression = sympy.Integer(symbolic) if isinstance(symbolic, int) else symbolic.node.expr
            pairs.append((f"input {path}, dimension {dim}", expression, int(size)))
    return pairs


def _solve(place: str, expression: Any, size: int, bindings: dict[sympy.Symbol, int]) -> None:
    remaining = expression.subs(bindings)
    free = sorted(remaining.free_symbols, key=str)
    if len(free) == 1:
        solutions = [s for s in sympy.solve(remaining - size, free[0]) if s.is_integer]
        if len(solutions) == 1:
            bindings[free[0]] = int(solutions[0])
            return
    if free or int(remaining) != size:
        hint = (
            "" if expression.free_symbols else "export again with this dimension dynamic, or pass that size"
        )
        raise FrontendError(place, found=f"size {size}", expected=f"{expression} = {remaining}", hint=hint)
