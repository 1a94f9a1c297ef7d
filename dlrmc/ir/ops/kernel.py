"""Ops with an IR body: what runs as one GPU kernel, and what is computed once at load."""

from __future__ import annotations

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Arity, Array, AttributeSpec, Op, Operands, OperandSpec
from dlrmc.ir.types import TensorType, Type


class _WithBody(Op):
    operands = (OperandSpec("args", Arity.REST),)

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> Type:
        raise self.fail("no body", "a body, whose outputs give the type")

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        raise self.fail("no body", "a body, which dlrmc.ir.reference evaluates")


class Kernel(_WithBody):
    """One GPU kernel. The body says what it computes, `impl` names the implementation that computes it.

    The body's inputs correspond one to one with the operands. A row program cuts `batch` rows into tiles of
    `rows`, one a block of `threads` threads; 0 leaves the choice of rows and threads to the implementation.
    """

    name = "kernel"
    attributes = (
        AttributeSpec("impl", "str"),
        AttributeSpec("batch", "int", 0),
        AttributeSpec("rows", "int", 0),
        AttributeSpec("threads", "int", 0),
    )


class Derive(_WithBody):
    """A value computed from weights and constants only: once at load, and again after a weight update."""

    name = "derive"


class Item(Op):
    """Result number `index` of a kernel that yields several values."""

    name = "item"
    operands = (OperandSpec("kernel"),)
    attributes = (AttributeSpec("index", "int"),)

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> Type:
        raise self.fail("a single tensor", "a kernel with several results")

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        raise self.fail("a single tensor", "a kernel with several results")


OPS: tuple[Op, ...] = (Kernel(), Derive(), Item())
