"""The epilogue of a linear kernel: elementwise ops on the product and on operands that broadcast to it.

The body of such a kernel is the product and what is computed of it, as `add(mul(x0, linear(x, w, b)), x)`;
the kernel computes one element of that where it has one of the product (Sizes::activation of linear.cuh).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dlrmc.codegen.code_blocks import CodeBlocks
from dlrmc.codegen.constant_tables import ConstantTables
from dlrmc.codegen.expressions import ExpressionWriter, Indices
from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.index_expressions import unravel
from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.linear_problem import Epilogue, Matrix, as_matrix
from dlrmc.codegen.kernels.windows import Windows
from dlrmc.codegen.scalar_types import COMPUTE_TYPES, rounded
from dlrmc.codegen.source import KernelContext
from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.op import Elementwise
from dlrmc.ir.strided import VIEW_OPS, Strided, row_strides, under_views
from dlrmc.passes.product_epilogues import broadcast_to

# What the emitted function has as parameters.
VALUE = "value"
OPERANDS = "operands"


def find_product(impl: KernelImpl, body: Graph, ops: Sequence[str]) -> Node:
    """The product that a body is about: its only node of these ops, all others being views or elementwise.

    Raises:
        CodegenError: where there is not one of them, or the body holds anything else.
    """
    if len(body.outputs) != 1:
        raise impl.refuse("results", f"{len(body.outputs)} results", "one result")
    products = [node for node in body.nodes if node.is_op(*ops)]
    if len(products) != 1:
        raise impl.refuse("body", f"{len(products)} products", f"one of {', '.join(ops)}")
    trunk = _trunk(body.outputs[0])
    read = {under_views(operand) for operand in products[0].inputs}
    for node in body.nodes:
        is_behind = isinstance(node.op, Elementwise) and node not in read
        is_part = node is products[0] or is_behind or node.is_op(*LEAVES)
        is_window = node.is_op(*VIEW_OPS) and under_views(node).is_op(*LEAVES)
        if not is_part and not is_window and node not in trunk:
            expected = f"an elementwise op, or a view of an operand of %{products[0].name}"
            raise impl.refuse(f"%{node.name}", f"op {node.op.name}", expected)
    return products[0]


def _trunk(output: Node) -> list[Node]:
    """What shows the result in another shape, or computes it of one value, element by element."""
    trunk: list[Node] = []
    node = output
    while node.is_op("view") or (isinstance(node.op, Elementwise) and len(node.inputs) == 1):
        trunk.append(node)
        node = node.inputs[0]
    return trunk


def epilogue_of(
    impl: KernelImpl, body: Graph, product: Node, windows: Windows, context: KernelContext
) -> Epilogue:
    """What is computed of an element of the product; nothing where the result shows the product itself.

    Raises:
        CodegenError: where an operand of it is no window that broadcasts to the product, or of another type.
    """
    (output,) = body.outputs
    if under_views(output) is product:
        return Epilogue()
    reader = _Reader(impl, product, windows)
    blocks = CodeBlocks()
    writer = ExpressionWriter(blocks, reader.element, ConstantTables(context.name), FaultSites(body, context))
    blocks.declare("i")
    result = writer.value(output, unravel(blocks.variable("i", output.type.numel), output.shape))
    return Epilogue(blocks.lines, result, tuple(reader.matrices))


@dataclass
class _Reader:
    """Numbers the operands as they are met, and names their elements: the index never matters."""

    impl: KernelImpl
    product: Node
    windows: Windows
    nodes: list[Node] = field(default_factory=list[Node])
    matrices: list[Matrix] = field(default_factory=list[Matrix])

    def element(self, node: Node, indices: Indices) -> str | None:
        root = under_views(node)
        if root is self.product:
            return rounded(VALUE, self.product.type.dtype)
        if not root.is_op("input"):
            return None
        if node not in self.nodes:
            self.nodes.append(node)
            self.matrices.append(self._matrix(node))
        return f"{OPERANDS}[{self.nodes.index(node)}]"

    def _matrix(self, node: Node) -> Matrix:
        compute_type = COMPUTE_TYPES[self.product.type.dtype]
        if COMPUTE_TYPES[node.type.dtype] != compute_type:
            raise self.impl.refuse(f"%{node.name}", f"elements of {node.type.dtype}", f"{compute_type}s")
        window = self.windows.operand(node)
        found = Strided(node, window.offset, window.shape, window.strides)
        spread = broadcast_to(found, self.product.shape)
        strides = None if spread is None else row_strides(spread)
        if strides is None:
            shape = list(self.product.shape)
            raise self.impl.refuse(
                f"%{node.name}", f"a value of {node.type}", f"rows that broadcast to {shape}"
            )
        rows = self.product.type.numel // self.product.shape[-1]
        return as_matrix(replace(window, shape=(rows, self.product.shape[-1]), strides=strides))
