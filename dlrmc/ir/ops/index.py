"""Reads at places that tensors of ids name. The reference refuses ids out of range.

In a kernel an id out of range reads nothing: the element is zero and the fault is recorded.
"""

from __future__ import annotations

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import (
    Arity,
    Array,
    AttributeSpec,
    Op,
    Operands,
    OperandSpec,
    RowFacts,
    flatten,
    many_optional,
    one,
)
from dlrmc.ir.ops.rules import (
    broadcast,
    check_bounds,
    listed,
    require_dim,
    require_index,
    require_rank,
)
from dlrmc.ir.rows import RowTag, rows_or_mixed
from dlrmc.ir.types import TensorType


class Index(Op):
    """x at the places that the index tensors name, one for each leading dimension or absent (aten.index).

    The index tensors (i64 or i32) broadcast together to a shape S; their values are in -size <= value < size.
    S stands in the result where the indexed dimensions stood, or in front where absent ones stand between
    them. Masks are not taken.
    """

    name = "index"
    aten = ("aten.index.Tensor",)
    operands = (OperandSpec("x"), OperandSpec("indices", Arity.REST))

    def rows(self, facts: RowFacts) -> RowTag:
        indices = many_optional(facts.tags[1])
        if all(index is None for index in indices[1:]) and indices[0] is not None:
            return rows_or_mixed([indices[0]], uniform=[one(facts.tags[0])])
        used = [position for position, index in enumerate(indices) if index is not None]
        # Index tensors that stand side by side leave the dimensions before them in front.
        in_place = bool(used) and used[0] > 0 and used[-1] - used[0] == len(used) - 1
        if not in_place:
            return facts.uniform_or_mixed
        return rows_or_mixed([one(facts.tags[0])], uniform=[tag for tag in indices if tag is not None])

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, indices = one(operands[0]), many_optional(operands[1])
        present = [(dim, index) for dim, index in enumerate(indices) if index is not None]
        if not present:
            raise self.fail("no index tensor", "at least one")
        if len(indices) > x.rank:
            raise self.fail(f"{len(indices)} indices for {x}", f"at most {x.rank}")
        for dim, index in present:
            require_index(self, f"indices[{dim}]", index)
        shape = broadcast(self, [index for _, index in present])
        dims = [dim for dim, _ in present]
        kept = [(dim, size) for dim, size in enumerate(x.shape) if dim not in dims]
        is_adjacent = dims == list(range(dims[0], dims[-1] + 1))
        front = tuple(size for dim, size in kept if is_adjacent and dim < dims[0])
        back = tuple(size for dim, size in kept if not is_adjacent or dim > dims[0])
        return x.with_shape((*front, *shape, *back))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x, indices = one(operands[0]), many_optional(operands[1])
        for dim, index in enumerate(indices):
            if index is not None:
                check_bounds(self.name, f"indices[{dim}]", index, -x.shape[dim], x.shape[dim])
        return np.asarray(x[tuple(slice(None) if index is None else index for index in indices)])


class IndexSelect(Op):
    """x at ids[I] along `dim`, whose size becomes I (aten.index_select); 0 <= id < size."""

    name = "index_select"
    aten = ("aten.index_select.default",)
    operands = (OperandSpec("x"), OperandSpec("ids"))
    attributes = (AttributeSpec("dim", "int"),)

    def rows(self, facts: RowFacts) -> RowTag:
        x, ids = one(facts.tags[0]), one(facts.tags[1])
        if facts.attributes.int("dim"):
            return rows_or_mixed([x], uniform=[ids])
        return rows_or_mixed([ids], uniform=[x])

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, ids, dim = one(operands[0]), one(operands[1]), attributes.int("dim")
        require_index(self, "ids", ids)
        require_rank(self, "ids", ids, 1)
        require_dim(self, dim, x.rank)
        return x.with_shape((*x.shape[:dim], ids.shape[0], *x.shape[dim + 1 :]))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x, ids, dim = one(operands[0]), one(operands[1]), attributes.int("dim")
        check_bounds(self.name, "ids", ids, 0, x.shape[dim])
        return np.take(x, ids, axis=dim)


class Gather(Op):
    """x at ids along `dim`, at the id's own place along the others, in the shape of ids (aten.gather).

    ids has the rank of x and is no larger than x but in `dim`; 0 <= id < size.
    """

    name = "gather"
    aten = ("aten.gather.default",)
    operands = (OperandSpec("x"), OperandSpec("ids"))
    attributes = (AttributeSpec("dim", "int"),)

    def rows(self, facts: RowFacts) -> RowTag:
        x, ids = one(facts.types[0]), one(facts.types[1])
        if not facts.attributes.int("dim") and x.rank == 1:
            return rows_or_mixed([one(facts.tags[1])], uniform=[one(facts.tags[0])])
        if not facts.attributes.int("dim") or x.shape[:1] != ids.shape[:1]:
            return facts.uniform_or_mixed
        return rows_or_mixed(flatten(facts.tags))

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        x, ids, dim = one(operands[0]), one(operands[1]), attributes.int("dim")
        require_index(self, "ids", ids)
        require_rank(self, "ids", ids, x.rank)
        require_dim(self, dim, x.rank)
        if any(ids.shape[d] > x.shape[d] for d in range(x.rank) if d != dim):
            raise self.fail(f"ids is {ids}", f"at most {listed(x.shape)} but in dimension {dim}")
        return x.with_shape(ids.shape)

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        x, ids, dim = one(operands[0]), one(operands[1]), attributes.int("dim")
        check_bounds(self.name, "ids", ids, 0, x.shape[dim])
        corner = tuple(slice(None) if d == dim else slice(size) for d, size in enumerate(ids.shape))
        return np.take_along_axis(x[corner], ids.astype(np.int64), axis=dim)


OPS: tuple[Op, ...] = (Index(), IndexSelect(), Gather())
