"""The op card: everything the compiler knows of one op, in one class."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from dlrmc.errors import TypeRuleError
from dlrmc.ir.attributes import Attribute, Attributes
from dlrmc.ir.rows import MIXED, UNIFORM, RowTag, joined
from dlrmc.ir.types import DType, TensorType, Type

T = TypeVar("T")
U = TypeVar("U")

Array = np.ndarray[Any, Any]
# One operand as a card declares it: one value, an absent one, or a list of values.
Operand = T | None | tuple[T | None, ...]
Operands = tuple[Operand[T], ...]


class Arity(enum.Enum):
    """How many values an operand holds, and how the text shows it."""

    ONE = "one"  # %x
    OPTIONAL = "optional"  # %x or _
    MANY = "many"  # [%x, %y]; items may be _
    PARTS = "parts"  # %x or [%x, %y]: a list that prints bare where it has one item
    REST = "rest"  # %x, _, %y: all that follow, without brackets; must be last


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """Name and arity of one operand."""

    name: str
    arity: Arity = Arity.ONE


class Required(enum.Enum):
    """Marks an attribute that has no default."""

    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """Name, kind and default of one attribute.

    `kind` is one of int, float, bool, str, dtype, ints, bools, strs. `choices` lists the words allowed.
    """

    name: str
    kind: str
    default: Attribute | Required = Required.REQUIRED
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What a transfer rule of row tags looks at: the operands' tags and types, and what the node is."""

    tags: Operands[RowTag]
    types: Operands[TensorType]
    attributes: Attributes
    result: TensorType
    batch: int

    @property
    def uniform_or_mixed(self) -> RowTag:
        """UNIFORM where every operand is, else MIXED."""
        return UNIFORM if all(tag is UNIFORM for tag in flatten(self.tags)) else MIXED

    def along(self, dims: tuple[int, ...]) -> RowTag:
        """The tag of the only operand, if `dims`, which the op works along, leave out the leading one."""
        return self.uniform_or_mixed if 0 in dims else one(self.tags[0])


class Op(ABC):
    """One op: operands, attributes, type rule, NumPy meaning. Instances hold no state."""

    name: ClassVar[str]
    operands: ClassVar[tuple[OperandSpec, ...]] = ()
    attributes: ClassVar[tuple[AttributeSpec, ...]] = ()
    # aten targets whose arguments map one to one onto operands and attributes, for docs and the importer.
    aten: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> Type:
        """The result's type.

        Raises:
            TypeRuleError: where the operands or attributes do not fit.
        """

    @abstractmethod
    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        """The result's value, by NumPy: the meaning of the op."""

    def rows(self, facts: RowFacts) -> RowTag:
        """How the result depends on the batch, given how the operands do.

        The default is the safe answer: uniform where every operand is, else mixed.
        """
        return facts.uniform_or_mixed

    def fail(self, found: str, expected: str, hint: str = "") -> TypeRuleError:
        """The error of this op's type rule, to be raised by the caller."""
        return TypeRuleError(self.name, found=found, expected=expected, hint=hint)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


class Elementwise(Op):
    """An op whose result at an index depends on its operands at that index only, after broadcasting."""

    def rows(self, facts: RowFacts) -> RowTag:
        """Entry by entry, where the leading dimensions of all that is not uniform line up."""
        result = facts.result
        for tag, kept in zip(flatten(facts.tags), flatten(facts.types), strict=True):
            lines_up = kept.rank == result.rank and kept.shape[:1] == result.shape[:1]
            spreads = kept.rank < result.rank or kept.shape[:1] == (1,)
            if not (spreads if tag is UNIFORM else lines_up):
                return facts.uniform_or_mixed
        return joined(flatten(facts.tags))

    @abstractmethod
    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        """The CUDA expression of one element.

        Args:
            arguments: an expression for each operand, of its compute type (float for f16, bf16, f32; double
                for f64; long long, int, unsigned char, signed char and bool for the others).
            dtypes: the operands' dtypes.
            attributes: the node's attributes.
        """


def one(operand: Operand[T]) -> T:
    """The value of an operand that must be there and be single."""
    if operand is None or isinstance(operand, tuple):
        raise TypeRuleError("operand", found="an absent operand or a list", expected="one value")
    return operand


def optional(operand: Operand[T]) -> T | None:
    """The value of an operand that may be absent."""
    if isinstance(operand, tuple):
        raise TypeRuleError("operand", found="a list", expected="one value or none")
    return operand


def many(operand: Operand[T]) -> tuple[T, ...]:
    """The values of a list operand none of which is absent."""
    items = many_optional(operand)
    if any(item is None for item in items):
        raise TypeRuleError("operand", found="an absent item in a list", expected="a value in every place")
    return cast("tuple[T, ...]", items)


def many_optional(operand: Operand[T]) -> tuple[T | None, ...]:
    """The values of a list operand, absent ones as None."""
    if not isinstance(operand, tuple):
        raise TypeRuleError("operand", found="a single value", expected="a list of values")
    return cast("tuple[T | None, ...]", operand)


def flatten(operands: Operands[T]) -> tuple[T, ...]:
    """All present values in textual order."""
    flat: list[T] = []
    for operand in operands:
        items = cast("tuple[T | None, ...]", operand) if isinstance(operand, tuple) else (operand,)
        flat.extend(item for item in items if item is not None)
    return tuple(flat)


def map_operands(operands: Operands[T], function: Callable[[T], U]) -> Operands[U]:
    """The same structure with `function` applied to every present value."""
    mapped: list[Operand[U]] = []
    for operand in operands:
        if isinstance(operand, tuple):
            items = cast("tuple[T | None, ...]", operand)
            mapped.append(tuple(None if item is None else function(item) for item in items))
        else:
            mapped.append(None if operand is None else function(operand))
    return tuple(mapped)


_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, float),
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "dtype": lambda v: isinstance(v, DType),
    "ints": lambda v: isinstance(v, tuple) and all(type(i) is int for i in cast("tuple[Any, ...]", v)),
    "bools": lambda v: isinstance(v, tuple) and all(type(i) is bool for i in cast("tuple[Any, ...]", v)),
    "strs": lambda v: isinstance(v, tuple) and all(isinstance(i, str) for i in cast("tuple[Any, ...]", v)),
}


def complete_attributes(op: Op, given: Mapping[str, Attribute]) -> Attributes:
    """Check attributes against the card and fill in the defaults, in the card's order.

    An int is taken for a float attribute.

    Raises:
        TypeRuleError: unknown, missing or ill-typed attribute.
    """
    known = [spec.name for spec in op.attributes]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise op.fail(f"attribute {unknown[0]!r}", f"one of {', '.join(known)}" if known else "none")
    return Attributes({spec.name: _complete(op, spec, given) for spec in op.attributes})


def _complete(op: Op, spec: AttributeSpec, given: Mapping[str, Attribute]) -> Attribute:
    value = given.get(spec.name, spec.default)
    if isinstance(value, Required):
        raise op.fail(f"no attribute {spec.name!r}", f"{spec.name}={spec.kind}")
    if spec.kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not _KINDS[spec.kind](value):
        raise op.fail(f"{spec.name}={value!r}", f"{spec.name} of kind {spec.kind}")
    if spec.choices and value not in spec.choices:
        raise op.fail(f"{spec.name}={value}", f"{spec.name} one of {', '.join(spec.choices)}")
    return value


def check_arity(op: Op, operands: Operands[T]) -> None:
    """Check that the operands have the structure that the card declares.

    Raises:
        TypeRuleError: too few, too many, absent, or a list where one value belongs.
    """
    if len(operands) != len(op.operands):
        names = ", ".join(spec.name for spec in op.operands)
        raise op.fail(f"number of operands {len(operands)}", f"{len(op.operands)} ({names})")
    for spec, operand in zip(op.operands, operands, strict=True):
        is_list = isinstance(operand, tuple)
        wants_list = spec.arity in (Arity.MANY, Arity.PARTS, Arity.REST)
        if is_list != wants_list:
            found = f"operand {spec.name} is {'a list' if is_list else 'a single value'}"
            raise op.fail(found, "a list of values" if wants_list else "one value")
        if operand is None and spec.arity is Arity.ONE:
            raise op.fail(f"operand {spec.name} is absent", "a value")
