"""Symbolic index arithmetic: sums of variables and digits of sums, simplified as they are built.

All values are non-negative and all variables have a known extent, so that `/` and `%` of C are the floor
division and remainder of mathematics. Equal indices built along the same path compare equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    """A C variable with 0 <= value < extent."""

    name: str
    extent: int


@dataclass(frozen=True, slots=True)
class Digit:
    """`number / divisor % modulus`; a modulus of 0 stands for none."""

    number: Index
    divisor: int
    modulus: int

    @property
    def extent(self) -> int:
        """One more than the largest value."""
        quotients = self.number.largest // self.divisor + 1
        return min(quotients, self.modulus) if self.modulus else quotients


Atom = Variable | Digit


@dataclass(frozen=True, slots=True)
class Index:
    """`constant + sum of factor * atom`, all factors positive and all atoms distinct."""

    terms: tuple[tuple[Atom, int], ...]
    constant: int

    @property
    def largest(self) -> int:
        """An upper bound that the value may reach."""
        return self.constant + sum(factor * (atom.extent - 1) for atom, factor in self.terms)

    @property
    def variables(self) -> frozenset[str]:
        """The names of all variables that the value depends on."""
        return frozenset(_variables(self))

    def __str__(self) -> str:
        return render(self)


def constant(value: int) -> Index:
    """The index that is always `value` (>= 0)."""
    return Index((), value)


def variable(name: str, extent: int) -> Index:
    """The index that a C variable holds; one that can only be 0 is the constant 0."""
    return Index(((Variable(name, extent), 1),), 0) if extent > 1 else constant(0)


def add(indices: Iterable[Index]) -> Index:
    """The sum."""
    factors: dict[Atom, int] = {}
    total = 0
    for index in indices:
        total += index.constant
        for atom, factor in index.terms:
            factors[atom] = factors.get(atom, 0) + factor
    return _joined(factors, total)


def scale(index: Index, factor: int) -> Index:
    """The product with a constant >= 0."""
    if factor == 0:
        return constant(0)
    return Index(tuple((atom, f * factor) for atom, f in index.terms), index.constant * factor)


def divide(index: Index, divisor: int) -> Index:
    """The quotient by a constant > 0, rounded down."""
    if divisor == 1:
        return index
    whole = Index(
        tuple((atom, factor // divisor) for atom, factor in index.terms if factor % divisor == 0),
        index.constant // divisor,
    )
    rest = _part(index, divisor)
    if rest.largest < divisor:
        return whole
    common = math.gcd(divisor, *(factor for _, factor in rest.terms))
    rest, divisor = _shrunk(rest, common), divisor // common
    return add((whole, rest if divisor == 1 else _digit(rest, divisor, 0)))


def modulo(index: Index, modulus: int) -> Index:
    """The remainder by a constant > 0."""
    rest = _part(index, modulus)
    if rest.largest < modulus:
        return rest
    common = math.gcd(modulus, *(factor for _, factor in rest.terms))
    inner = _digit(_shrunk(rest, common), 1, modulus // common)
    return add((scale(inner, common), constant(rest.constant % common)))


def ravel(indices: Iterable[Index], shape: tuple[int, ...]) -> Index:
    """The position in row-major order of an element of an array of that shape."""
    strides = (math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return dot(indices, strides)


def unravel(position: Index, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """The index along each dimension of the element at a position in row-major order."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return tuple(
        modulo(divide(position, stride), size) if size > 1 else constant(0)
        for size, stride in zip(shape, strides, strict=True)
    )


def dot(indices: Iterable[Index], strides: Iterable[int], offset: int = 0) -> Index:
    """`offset + sum of index * stride`."""
    products = [scale(index, stride) for index, stride in zip(indices, strides, strict=True)]
    return add((*products, constant(offset)))


def render(index: Index) -> str:
    """The C expression."""
    parts = [_render_term(atom, factor) for atom, factor in index.terms]
    if index.constant or not parts:
        parts.append(str(index.constant))
    return " + ".join(parts)


def is_sum(index: Index) -> bool:
    """Whether the C expression needs parentheses beside `*`, `/` or `%`."""
    return len(index.terms) + (index.constant != 0) > 1


def _part(index: Index, divisor: int) -> Index:
    """The index less all that the divisor divides."""
    terms = tuple((atom, factor) for atom, factor in index.terms if factor % divisor)
    return Index(terms, index.constant % divisor)


def _shrunk(index: Index, divisor: int) -> Index:
    """The quotient by a divisor of all factors."""
    return Index(tuple((atom, f // divisor) for atom, f in index.terms), index.constant // divisor)


def _digit(number: Index, divisor: int, modulus: int) -> Index:
    """`number / divisor % modulus`, written as a digit of a digit's own number where it is one."""
    inner = _sole_digit(number)
    if inner is not None:
        nested = _digit_of_digit(inner, divisor, modulus)
        if nested is not None:
            return nested
    if modulus and number.largest // divisor < modulus:
        modulus = 0
    if divisor == 1 and not modulus:
        return number
    return Index(((Digit(number, divisor, modulus), 1),), 0)


def _sole_digit(number: Index) -> Digit | None:
    if len(number.terms) != 1 or number.constant or number.terms[0][1] != 1:
        return None
    atom = number.terms[0][0]
    return atom if isinstance(atom, Digit) else None


def _digit_of_digit(inner: Digit, divisor: int, modulus: int) -> Index | None:
    """`(n / a % b) / c % d` is `n / (a * c) % e` where b is none, or c divides b and d fits."""
    if not inner.modulus:
        return _digit(inner.number, inner.divisor * divisor, modulus)
    if inner.modulus % divisor:
        return None
    kept = inner.modulus // divisor
    if modulus and modulus < kept:
        if kept % modulus:
            return None
        kept = modulus
    return _digit(inner.number, inner.divisor * divisor, kept)


def _joined(factors: dict[Atom, int], total: int) -> Index:
    """The sum after neighbouring digits of one number have been joined, in canonical order."""
    pair = _neighbours(factors)
    while pair is not None:
        joined, low, high = pair
        factor = factors[low]
        factors = {atom: f for atom, f in factors.items() if atom not in (low, high)}
        for atom, f in joined.terms:
            factors[atom] = factors.get(atom, 0) + f * factor
        total += joined.constant * factor
        pair = _neighbours(factors)
    terms = sorted(factors.items(), key=lambda term: (-term[1], _render_atom(term[0])))
    return Index(tuple(terms), total)


def _neighbours(factors: dict[Atom, int]) -> tuple[Index, Atom, Atom] | None:
    """Two terms to join: `n / a % b` and `b * (n / (a * b) % c)` make `n / a % (b * c)`."""
    for low, factor in factors.items():
        if not isinstance(low, Digit) or not low.modulus:
            continue
        for high, high_factor in factors.items():
            modulus = _continues(low, high)
            if modulus is not None and high_factor == factor * low.modulus:
                return _digit(low.number, low.divisor, modulus), low, high
    return None


def _continues(low: Digit, high: Atom) -> int | None:
    """The modulus of both digits together where `high` is the next digit after `low`, else None."""
    divisor = low.divisor * low.modulus
    if isinstance(high, Digit) and high.number == low.number and high.divisor == divisor:
        return high.modulus * low.modulus
    return None


def _render_term(atom: Atom, factor: int) -> str:
    text = _render_atom(atom)
    if factor == 1:
        return text
    return f"{text} * {factor}"


def _render_atom(atom: Atom) -> str:
    if isinstance(atom, Variable):
        return atom.name
    text = f"({render(atom.number)})" if is_sum(atom.number) else render(atom.number)
    text = f"{text} / {atom.divisor}" if atom.divisor > 1 else text
    return f"{text} % {atom.modulus}" if atom.modulus else text


def _variables(index: Index) -> Iterator[str]:
    for atom, _ in index.terms:
        if isinstance(atom, Variable):
            yield atom.name
        else:
            yield from _variables(atom.number)
