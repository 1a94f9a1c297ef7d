"""One value of a graph and the op that makes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlrmc.errors import TypeRuleError
from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, Op, Operands, flatten
from dlrmc.ir.types import TensorType, TupleType, Type

if TYPE_CHECKING:
    from dlrmc.ir.graph import Graph

LEAVES = ("input", "weight", "const")


def safe_name(name: str) -> str:
    """The name with every character that IR text does not allow turned into an underscore."""
    safe = re.sub(r"[^A-Za-z0-9_]", "_", name) or "value"
    return f"_{safe}" if safe[0].isdigit() else safe


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Node:
    """A node, compared by identity. Frozen for everyone but the Graph that holds it.

    Args:
        op: the op card.
        operands: in the structure that the card declares.
        attributes: defaults filled in.
        result_type: the type, which is a TupleType for a kernel with several results.
        number: the insertion number, which breaks ties in the topological order.
        name: without the percent sign, unique in the graph.
        source: the user's source line, or an empty string.
        target: the state-dict name of a weight; empty for others.
        constant: the read-only array of a const; None for others.
        inner: the IR inside a kernel or derive; None for others.
    """

    op: Op
    operands: Operands[Node]
    attributes: Attributes
    result_type: Type
    number: int
    name: str
    source: str = ""
    target: str = ""
    constant: Array | None = None
    inner: Graph | None = None

    @property
    def type(self) -> TensorType:
        """The tensor type.

        Raises:
            TypeRuleError: for a kernel with several results, whose parts are read with `item`.
        """
        if isinstance(self.result_type, TupleType):
            raise TypeRuleError(f"%{self.name}", found=f"type {self.result_type}", expected="a single tensor")
        return self.result_type

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.type.shape

    @property
    def value(self) -> Array:
        """The read-only array of a const.

        Raises:
            TypeRuleError: where the node is no const.
        """
        if self.constant is None:
            raise TypeRuleError(f"%{self.name}", found=f"op {self.op.name}", expected="a const")
        return self.constant

    @property
    def has_body(self) -> bool:
        """Whether the node is a kernel or a derive."""
        return self.inner is not None

    @property
    def body(self) -> Graph:
        """The IR inside a kernel or derive node.

        Raises:
            TypeRuleError: where the node has no body.
        """
        if self.inner is None:
            raise TypeRuleError(f"%{self.name}", found=f"op {self.op.name}", expected="an op with a body")
        return self.inner

    @property
    def outer(self) -> dict[Node, Node]:
        """For each input of the body, the operand that it stands for.

        Raises:
            TypeRuleError: where the node has no body.
        """
        return dict(zip(self.body.inputs, self.inputs, strict=True))

    @property
    def inputs(self) -> tuple[Node, ...]:
        """All present operand values in textual order, lists flattened."""
        return flatten(self.operands)

    def is_op(self, *names: str) -> bool:
        """Whether the op has one of these names."""
        return self.op.name in names

    def __repr__(self) -> str:
        return f"%{self.name} = {self.op.name} : {self.result_type}"
