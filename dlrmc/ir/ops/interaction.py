"""Products between the features of one sample."""

from __future__ import annotations

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Arity, Array, AttributeSpec, Op, Operands, OperandSpec, RowFacts, flatten, many
from dlrmc.ir.ops.numeric import exact, quiet, rounded
from dlrmc.ir.ops.rules import require_float, require_same_dtype
from dlrmc.ir.rows import RowTag, rows_or_mixed
from dlrmc.ir.types import DType, TensorType

PAIRS = ("strict_lower", "lower", "strict_upper", "upper")


def pair_indices(pairs: str, features: int) -> tuple[Array, Array]:
    """The pairs of features in the order of the result of `pairwise_dot`, as two i64 arrays [P].

    They are the entries of a triangle of the features x features matrix, row by row: strict_lower is (1,0),
    (2,0), (2,1), ...; lower is (0,0), (1,0), (1,1), ...; strict_upper is (0,1), (0,2), ..., (1,2), ...; upper
    has the diagonal too.

    Args:
        pairs: one of PAIRS.
        features: the number of features.
    """
    diagonal = {"strict_lower": -1, "lower": 0, "strict_upper": 1, "upper": 0}[pairs]
    triangle = np.tril_indices if pairs.endswith("lower") else np.triu_indices
    rows, columns = triangle(features, diagonal)
    return rows.astype(np.int64), columns.astype(np.int64)


class PairwiseDot(Op):
    """The dot products of pairs of features: parts [B, D] or [B, T, D] to [B, P] (aten.bmm and aten.index).

    The features are the rows of the parts in order, F in all. `pairs` names the triangle of the F x F matrix
    that is kept, row by row (`pair_indices`).
    """

    name = "pairwise_dot"
    operands = (OperandSpec("parts", Arity.REST),)
    attributes = (AttributeSpec("pairs", "str", "strict_lower", PAIRS),)

    def rows(self, facts: RowFacts) -> RowTag:
        return rows_or_mixed(flatten(facts.tags))

    def infer(self, operands: Operands[TensorType], attributes: Attributes) -> TensorType:
        parts = many(operands[0])
        if not parts:
            raise self.fail("no parts", "at least one")
        require_float(self, "parts[0]", parts[0])
        dtype = require_same_dtype(self, parts)
        for number, part in enumerate(parts):
            if part.rank not in (2, 3):
                raise self.fail(f"parts[{number}] is {part}", "[B,D] or [B,T,D]")
        if any((part.shape[0], part.shape[-1]) != (parts[0].shape[0], parts[0].shape[-1]) for part in parts):
            raise self.fail(f"parts {', '.join(map(str, parts))}", "equal first and equal last dimensions")
        features = sum(1 if part.rank == 2 else part.shape[1] for part in parts)
        extra = 0 if attributes.str("pairs").startswith("strict") else features
        return TensorType(dtype, (parts[0].shape[0], features * (features - 1) // 2 + extra))

    def reference(self, operands: Operands[Array], attributes: Attributes) -> Array:
        parts = many(operands[0])
        rows = [exact(part if part.ndim == 3 else part[:, None, :]) for part in parts]
        features = np.concatenate(rows, axis=1)
        i, j = pair_indices(attributes.str("pairs"), features.shape[1])
        with quiet():
            gram = features @ features.swapaxes(1, 2)
        return rounded(gram[:, i, j], DType.of_numpy(parts[0].dtype))


OPS: tuple[Op, ...] = (PairwiseDot(),)
