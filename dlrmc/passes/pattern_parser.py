"""The text of a pattern into a Pattern.

    %tt = permute(%t) {perm=[0,2,1]} : T[B,D,F]
    %z = bmm(%t, %tt)                : T[B,F,F]

Beyond IR text there are: names for dimensions (`B`; `*S` for any number of them) and for dtypes (`T`), `$p`
for an attribute, `...` at the end of the braces for all attributes that are not written, `?%b` for an
operand that may be absent, `*%parts` for any number of list items, and lines `%x : T[B,D]` that only give a
free value its type. The type of a line may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import TypeVar, cast

from dlrmc.errors import DlrmcError, ParseError
from dlrmc.ir.attributes import Attribute
from dlrmc.ir.op import Arity, AttributeSpec, Op, Operand, check_arity
from dlrmc.ir.op import complete_attributes as complete
from dlrmc.ir.ops import find_op
from dlrmc.ir.types import DType
from dlrmc.passes.pattern import (
    Absent,
    DimPattern,
    Item,
    Line,
    OperandPattern,
    Pattern,
    Run,
    TypePattern,
    Value,
    Variable,
)
from dlrmc.passes.pattern_checks import checked_pattern

T = TypeVar("T")

_TOKEN = re.compile(
    r"\s*(?:(?P<value>%\w+)|(?P<variable>\$\w+)|(?P<number>[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|inf\b))"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<mark>\.\.\.|[=(){}\[\],:*?]))"
)
_DTYPES = frozenset(dtype.value for dtype in DType)


def parse_pattern(text: str, rule: str) -> Pattern:
    """Read a pattern.

    Args:
        text: one line for each value, operands before users.
        rule: the name of the rule, for errors.

    Raises:
        ParseError: with the line and what was expected there.
    """
    lines: dict[str, Line] = {}
    for row in text.strip().splitlines():
        if not row.strip():
            continue
        line = _LineParser(row.strip(), rule).line()
        if line.name in lines:
            raise ParseError(
                f"rule {rule}", found=f"%{line.name} is defined twice", expected="one line a value"
            )
        lines[line.name] = line
    return checked_pattern(lines, rule)


class _LineParser:
    """Recursive descent over one line."""

    def __init__(self, text: str, rule: str) -> None:
        self._text = text
        self._rule = rule
        self._position = 0

    def line(self) -> Line:
        name = self._kind("value", "a value such as %x")[1:]
        op, operands, attributes = "", (), {}
        if self._accept("="):
            card = self._card()
            op, operands, attributes = card.name, self._operands(card), self._attributes(card)
        kept = self._type() if self._accept(":") else None
        if self._position != len(self._text):
            raise self._error("the end of the line")
        return Line(name, op, operands, MappingProxyType(attributes), kept)

    def _card(self) -> Op:
        word = self._kind("word", "the name of an op")
        try:
            return find_op(word)
        except DlrmcError as error:
            raise self._error(error.expected) from error

    # -- operands --------------------------------------------------------------------------------------------

    def _operands(self, card: Op) -> tuple[OperandPattern, ...]:
        self._expect("(")
        operands: list[OperandPattern] = []
        for spec in card.operands:
            operands.append(self._operand(spec.arity))
            self._accept(",")
        self._expect(")")
        lists = (Arity.MANY, Arity.PARTS, Arity.REST)
        shape: list[Operand[bool]] = [(True,) if spec.arity in lists else True for spec in card.operands]
        check_arity(card, tuple(shape))
        return tuple(operands)

    def _operand(self, arity: Arity) -> OperandPattern:
        match arity:
            case Arity.REST:
                return self._list(self._item, ")", consume=False)
            case Arity.MANY:
                self._expect("[")
                return self._list(self._item, "]")
            case Arity.PARTS if self._accept("["):
                return self._list(self._item, "]")
            case Arity.PARTS:
                return (self._value(),)
            case Arity.OPTIONAL if self._peek() == ")" or self._accept("_"):
                return Absent()
            case _:
                return self._value()

    def _item(self) -> Item:
        if self._accept("*"):
            return Run(self._kind("value", "a value such as %parts")[1:])
        return Absent() if self._accept("_") else self._value()

    def _value(self) -> Value:
        may_be_absent = self._accept("?")
        return Value(self._kind("value", "a value such as %x")[1:], may_be_absent)

    # -- attributes ------------------------------------------------------------------------------------------

    def _attributes(self, card: Op) -> dict[str, Attribute | Variable]:
        written: dict[str, Attribute | Variable] = {}
        is_open = False
        specs = {spec.name: spec for spec in card.attributes}
        if self._accept("{"):
            while not self._accept("}"):
                if self._accept("..."):
                    is_open = True
                    continue
                name = self._kind("word", "the name of an attribute")
                if name not in specs:
                    raise self._error(f"one of {', '.join(specs) or 'no attributes'}")
                self._expect("=")
                written[name] = self._attribute(specs[name])
                self._accept(",")
        return written if is_open else self._with_defaults(card, written)

    def _with_defaults(
        self, card: Op, written: dict[str, Attribute | Variable]
    ) -> dict[str, Attribute | Variable]:
        rest = {spec.name: spec.default for spec in card.attributes if spec.name not in written}
        try:
            literals = {name: value for name, value in written.items() if not isinstance(value, Variable)}
            complete(card, {**literals, **_placeholders(card, written)})
        except DlrmcError as error:
            raise self._error(f"{error.expected} (or `...`)") from error
        return {**written, **cast("dict[str, Attribute | Variable]", rest)}

    def _attribute(self, spec: AttributeSpec) -> Attribute | Variable:
        variable = self._next("variable")
        if variable:
            return Variable(variable[1:])
        if spec.kind in ("ints", "bools", "strs"):
            self._expect("[")
            return cast(Attribute, self._list(lambda: self._scalar(spec.kind[:-1]), "]"))
        return self._scalar(spec.kind)

    def _scalar(self, kind: str) -> int | float | bool | str | DType:
        text = self._next("number") or self._kind("word", f"a literal of kind {kind}")
        try:
            match kind:
                case "int":
                    return int(text)
                case "float":
                    return float(text)
                case "bool":
                    return {"true": True, "false": False}[text]
                case "dtype":
                    return DType(text)
                case _:
                    return text
        except (ValueError, KeyError) as error:
            raise self._error(f"a literal of kind {kind}") from error

    # -- types -----------------------------------------------------------------------------------------------

    def _type(self) -> TypePattern:
        word = self._kind("word", "a dtype or a name for one")
        dtype = DType(word) if word in _DTYPES else Variable(word)
        self._expect("[")
        dims = self._list(self._dim, "]")
        if sum(isinstance(dim, Run) for dim in dims) > 1:
            raise self._error("at most one run of dimensions")
        return TypePattern(dtype, dims)

    def _dim(self) -> DimPattern:
        if self._accept("*"):
            return Run(self._kind("word", "a name such as S"))
        number = self._next("number")
        return int(number) if number else Variable(self._kind("word", "a dimension: a number or a name"))

    # -- tokens ----------------------------------------------------------------------------------------------

    def _list(self, item: Callable[[], T], closing: str, *, consume: bool = True) -> tuple[T, ...]:
        items: list[T] = []
        while self._peek() != closing:
            items.append(item())
            if not self._accept(",") and self._peek() != closing:
                raise self._error(f"',' or {closing!r}")
        if consume:
            self._expect(closing)
        return tuple(items)

    def _match(self) -> re.Match[str] | None:
        return _TOKEN.match(self._text, self._position)

    def _peek(self) -> str:
        found = self._match()
        return found.group().strip() if found else ""

    def _next(self, kind: str) -> str:
        """The next token if it is of that kind, else an empty string."""
        found = self._match()
        if found is None or found.lastgroup != kind:
            return ""
        self._position = found.end()
        return found.group().strip()

    def _kind(self, kind: str, what: str) -> str:
        text = self._next(kind)
        if not text:
            raise self._error(what)
        return text

    def _accept(self, text: str) -> bool:
        found = self._match()
        if found is None or found.group().strip() != text:
            return False
        self._position = found.end()
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._error(repr(text))

    def _error(self, expected: str) -> ParseError:
        marker = " " * self._position + "^"
        found = repr(self._peek() or "the end of the line")
        return ParseError(f"rule {self._rule}", found=found, expected=expected, context=[self._text, marker])


def _placeholders(card: Op, written: dict[str, Attribute | Variable]) -> dict[str, Attribute]:
    """A placeholder of the right kind for each attribute that is a hole, to check the others."""
    samples: dict[str, Attribute] = {"int": 0, "float": 0.0, "bool": False, "str": "", "dtype": DType.F32}
    holes = [spec for spec in card.attributes if isinstance(written.get(spec.name), Variable)]
    return {spec.name: spec.choices[0] if spec.choices else samples.get(spec.kind, ()) for spec in holes}
