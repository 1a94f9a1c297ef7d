"""Places among sorted boundaries: each value is compared with all of them, which suits tens of boundaries.

Sources: aten.bucketize, aten.searchsorted. Unsorted boundaries are the caller's mistake there, too.
"""

from __future__ import annotations

from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType


def bucketize(builder: Builder, call: Call) -> Node:
    """How many boundaries are less than each value; `right`: less or equal."""
    return _place(builder, call, call.tensor("self"), call.tensor("boundaries"), right=bool(call["right"]))


def search_sorted(builder: Builder, call: Call) -> Node:
    """The same for one sequence, or for a sequence a row of the values."""
    values, sequence = call.tensor("self"), call.tensor("sorted_sequence")
    if call.get("sorter") is not None:
        raise Refused("searchsorted with a sorter: gather the sorted sequence first")
    if call.get("side") not in (None, "left", "right"):
        raise Refused(f"searchsorted with side {call['side']!r}")
    right = call.get("side") == "right" or bool(call["right"])
    if sequence.type.rank > 1:
        shape = (*sequence.shape[:-1], 1, sequence.shape[-1])
        sequence = builder.inner_view(sequence, shape)
    return _place(builder, call, values, sequence, right=right)


def _place(builder: Builder, call: Call, values: Node, sequence: Node, *, right: bool) -> Node:
    """The number of boundaries below each value; a NaN is above all."""
    column = builder.inner_view(values, (*values.shape, 1))
    is_not_below = builder.inner("lt" if right else "le", column, sequence)
    is_below = builder.inner("logical_not", is_not_below)
    count = builder.inner("sum", builder.inner("cast", is_below, to=DType.I64), dims=(values.type.rank,))
    return builder.cast(count, call.dtype)


IMPORTERS = (
    (("aten.bucketize.Tensor",), bucketize),
    (("aten.searchsorted.Tensor",), search_sorted),
)
