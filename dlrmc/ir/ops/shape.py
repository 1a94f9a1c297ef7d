"""Ops that move values and compute none."""

from __future__ import annotations

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Arity, Array, AttributeSpec, Op, Operands, OperandSpec, RowFacts, many, one
from dlrmc.ir.ops.rules import listed, require_dim, require_numel, require_same_dtype
from dlrmc.ir.rows import MIXED, UNIFORM, Rows, RowTag, leading_rows, rows_or_mixed
from dlrmc.ir.types import TensorType

_X = (OperandSpec("x"),)


class View(Op):
    """The elements of x in row-major order in another shape of as many elements (aten.view, aten.reshape).

    Strides of the traced program do not matter; a -1 is resolved by the importer.
    """

    name = "view"
    aten = ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
    operands = _X
    attributes = (AttributeSpec("shape", "ints"),)

    def rows(self, facts: RowFacts) -> RowTag:
        tag = one(facts.tags[0])
        return leading_rows(facts.result.shape, facts.batch) if isinstance(tag, Rows) else tag

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, shape = one(operands[0]), attributes.ints("shape")
        require_numel(self, x, shape)
        return x.with_shape(shape)

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        return one(operands[0]).reshape(attributes.ints("shape"))


class Permute(Op):
    """x with its dimensions in another order: dimension d of the result is perm[d] of x (aten.permute)."""

    name = "permute"
    aten = ("aten.permute.default",)
    operands = _X
    attributes = (AttributeSpec("perm", "ints"),)

    def rows(self, facts: RowFacts) -> RowTag:
        return one(facts.tags[0]) if facts.attributes.ints("perm")[:1] == (0,) else facts.uniform_or_mixed

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, perm = one(operands[0]), attributes.ints("perm")
        if sorted(perm) != list(range(x.rank)):
            raise self.fail(f"perm={listed(perm)} for {x}", f"each of 0 to {x.rank - 1} once")
        return x.with_shape(tuple(x.shape[dim] for dim in perm))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        return one(operands[0]).transpose(attributes.ints("perm"))


class Expand(Op):
    """x repeated along its dimensions of size 1 and along new leading ones, to `shape` (aten.expand).

    A -1, which keeps a size in aten, is resolved by the importer.
    """

    name = "expand"
    aten = ("aten.expand.default",)
    operands = _X
    attributes = (AttributeSpec("shape", "ints"),)

    def rows(self, facts: RowFacts) -> RowTag:
        tag, x = one(facts.tags[0]), one(facts.types[0])
        if tag is UNIFORM:
            # The same for every row is row-local too, once it has a dimension for the rows.
            spreads = x.rank < facts.result.rank or x.shape[:1] == (1,)
            rows = leading_rows(facts.result.shape, facts.batch)
            return rows if spreads and isinstance(rows, Rows) else UNIFORM
        return tag if x.shape[:1] == facts.result.shape[:1] and x.rank == facts.result.rank else MIXED

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, shape = one(operands[0]), attributes.ints("shape")
        pairs = zip(x.shape[::-1], shape[::-1], strict=False)
        if len(shape) < x.rank or any(size < 0 for size in shape) or any(s not in (1, t) for s, t in pairs):
            raise self.fail(f"shape={listed(shape)}", f"a shape that {x} broadcasts to")
        return x.with_shape(shape)

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        return np.broadcast_to(one(operands[0]), attributes.ints("shape"))


class Slice(Op):
    """The part of x at start, start + step, ... before stop along one dimension (aten.slice).

    0 <= start <= stop <= size; the importer counts negative bounds from the end and clips them.
    """

    name = "slice"
    aten = ("aten.slice.Tensor",)
    operands = _X
    attributes = (
        AttributeSpec("dim", "int"),
        AttributeSpec("start", "int"),
        AttributeSpec("stop", "int"),
        AttributeSpec("step", "int", 1),
    )

    def rows(self, facts: RowFacts) -> RowTag:
        return facts.along((facts.attributes.int("dim"),))

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, dim = one(operands[0]), attributes.int("dim")
        start, stop, step = (attributes.int(name) for name in ("start", "stop", "step"))
        require_dim(self, dim, x.rank)
        size = x.shape[dim]
        if not 0 <= start <= stop <= size:
            raise self.fail(f"start={start}, stop={stop} of {size}", f"0 <= start <= stop <= {size}")
        if step < 1:
            raise self.fail(f"step={step}", "step >= 1")
        return x.with_shape((*x.shape[:dim], -((start - stop) // step), *x.shape[dim + 1 :]))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        where = slice(attributes.int("start"), attributes.int("stop"), attributes.int("step"))
        return one(operands[0])[(*[slice(None)] * attributes.int("dim"), where)]


class Select(Op):
    """x at one index of one dimension, which disappears (aten.select); 0 <= index < size."""

    name = "select"
    aten = ("aten.select.int",)
    operands = _X
    attributes = (AttributeSpec("dim", "int"), AttributeSpec("index", "int"))

    def rows(self, facts: RowFacts) -> RowTag:
        return facts.along((facts.attributes.int("dim"),))

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, dim, index = one(operands[0]), attributes.int("dim"), attributes.int("index")
        require_dim(self, dim, x.rank)
        if not 0 <= index < x.shape[dim]:
            raise self.fail(f"index={index} of {x.shape[dim]}", f"0 <= index < {x.shape[dim]}")
        return x.with_shape((*x.shape[:dim], *x.shape[dim + 1 :]))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        return np.asarray(np.take(one(operands[0]), attributes.int("index"), axis=attributes.int("dim")))


class Cat(Op):
    """The parts one after the other along `dim`; all other sizes and the dtypes are equal (aten.cat)."""

    name = "cat"
    aten = ("aten.cat.default",)
    operands = (OperandSpec("parts", Arity.REST),)
    attributes = (AttributeSpec("dim", "int"),)

    def rows(self, facts: RowFacts) -> RowTag:
        return rows_or_mixed(many(facts.tags[0])) if facts.attributes.int("dim") else facts.uniform_or_mixed

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        parts, dim = many(operands[0]), attributes.int("dim")
        if not parts:
            raise self.fail("no parts", "at least one")
        require_same_dtype(self, parts)
        first = parts[0]
        require_dim(self, dim, first.rank)
        around = [(part.shape[:dim], part.shape[dim + 1 :]) for part in parts]
        if any(part.rank != first.rank for part in parts) or any(sizes != around[0] for sizes in around):
            raise self.fail(f"parts {', '.join(map(str, parts))}", f"equal shapes but for dimension {dim}")
        return first.with_shape((*around[0][0], sum(part.shape[dim] for part in parts), *around[0][1]))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        return np.concatenate(many(operands[0]), axis=attributes.int("dim"))


class Assemble(Cat):
    """What `cat` computes, without a copy: the kernels of the parts write into their slices of its buffer.

    The pass `assemble` makes it of a cat whose parts have kernels of their own and are read by nothing else.
    """

    name = "assemble"
    aten = ()


OPS: tuple[Op, ...] = (View(), Permute(), Expand(), Slice(), Select(), Cat(), Assemble())
