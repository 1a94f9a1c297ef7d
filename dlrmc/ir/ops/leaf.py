"""Values that no op computes: inputs, weights and constants. Their types are given, not inferred."""

from __future__ import annotations

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, Op, Operands
from dlrmc.ir.types import TensorType, Type


class _Leaf(Op):
    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> Type:
        raise self.fail("no declared type", f"{self.name} declares its type")

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        raise self.fail("no bound value", f"{self.name} is bound by the caller of evaluate")


class Input(_Leaf):
    """A tensor that the caller passes with every request."""

    name = "input"


class Weight(_Leaf):
    """A parameter or buffer, bound at load by its state-dict name and constant between weight updates."""

    name = "weight"


class Const(_Leaf):
    """A constant of the program, whose value stands in the text."""

    name = "const"


OPS: tuple[Op, ...] = (Input(), Weight(), Const())
