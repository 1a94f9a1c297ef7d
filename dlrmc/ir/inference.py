"""The type of a node: by the op's card, or by the body where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.node import Node
from dlrmc.ir.op import Op, Operands, flatten, map_operands
from dlrmc.ir.types import TensorType, TupleType, Type

if TYPE_CHECKING:
    from dlrmc.ir.graph import Graph

WITH_BODY = ("kernel", "derive")


def infer_type(op: Op, operands: Operands[Node], attributes: Attributes, body: Graph | None) -> Type:
    """The type of a node: by the op's card, or by the body where there is one.

    Raises:
        TypeRuleError: where the operands do not fit the card or the body's inputs.
    """
    if op.name == "item":
        return _item_type(op, flatten(operands)[0].result_type, attributes.int("index"))
    if body is None:
        return op.infer(map_operands(operands, lambda node: node.type), attributes)
    if op.name not in WITH_BODY:
        raise op.fail("a body", f"no body: only {' and '.join(WITH_BODY)} have one")
    given = [node.type for node in flatten(operands)]
    wanted = [node.type for node in body.inputs]
    if given != wanted:
        found = f"operands of types {', '.join(map(str, given))}"
        raise op.fail(found, f"the body's {', '.join(map(str, wanted))}")
    results = tuple(node.type for node in body.outputs)
    return results[0] if len(results) == 1 else TupleType(results)


def _item_type(op: Op, kernel_type: Type, index: int) -> TensorType:
    if not isinstance(kernel_type, TupleType) or not 0 <= index < len(kernel_type.items):
        raise op.fail(f"item {index} of {kernel_type}", "an index into a kernel with several results")
    return kernel_type.items[index]
