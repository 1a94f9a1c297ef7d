"""Values that an import needs to know: masks, whose number of true elements is a size."""

from __future__ import annotations

import numpy as np

from dlrmc.errors import DlrmcError
from dlrmc.ir.graph import Node
from dlrmc.ir.op import Array, map_operands

# Far above every pair table; what is larger is no constant that a user meant to fold.
MAX_FOLDED_ELEMENTS = 1 << 22


class Constants:
    """Computes values made of constants only, and keeps which constants were read for them.

    Attributes:
        read: the `const` nodes whose values are in the graph now, whether or not the nodes stay.
    """

    def __init__(self) -> None:
        self.read: dict[Node, None] = {}
        self._known: dict[Node, Array | None] = {}

    def value(self, node: Node) -> Array | None:
        """The value, or None where it depends on an input or a weight, or is too large."""
        if node not in self._known:
            self._known[node] = self._computed(node)
        return self._known[node]

    def _computed(self, node: Node) -> Array | None:
        if node.is_op("const"):
            self.read[node] = None
            return node.value
        if not node.inputs or node.type.numel > MAX_FOLDED_ELEMENTS:
            return None
        if any(self.value(operand) is None for operand in node.inputs):
            return None
        if node.is_op("expand"):
            # A view: a mask of the whole batch costs no more than that of one row.
            return np.broadcast_to(self._operand(node.inputs[0]), node.shape)
        try:
            with np.errstate(all="ignore"):
                return node.op.reference(map_operands(node.operands, self._operand), node.attributes)
        except DlrmcError:
            return None

    def _operand(self, node: Node) -> Array:
        value = self.value(node)
        assert value is not None
        return value
