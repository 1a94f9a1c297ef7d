"""Matrix products."""

from __future__ import annotations

from dlrmc.frontend.builder import Builder
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node


def linear(builder: Builder, call: Call) -> Node:
    """`x @ weight.T + bias`, the weight as stored [N, K]."""
    x, weight = call.tensor("input"), call.tensor("weight")
    if weight.type.rank == 1:
        # torch takes a vector as one output row, and gives no dimension for it.
        wide = builder.op("linear", ((x,), builder.inner_view(weight, (1, *weight.shape)), None))
        if call["bias"] is not None:
            wide = builder.inner("add", wide, call.tensor("bias"))
        return builder.inner_view(wide, call.shape)
    return builder.op("linear", ((x,), weight, call["bias"]))


def addmm(builder: Builder, call: Call) -> Node:
    """`beta * self + alpha * (mat1 @ mat2)`."""
    attributes = {"alpha": float(call["alpha"]), "beta": float(call["beta"])}
    operands = (call.tensor("self"), call.tensor("mat1"), call.tensor("mat2"))
    return builder.op("addmm", operands, attributes)


def mm(builder: Builder, call: Call) -> Node:
    """A product of two matrices; one by a transposed weight is a linear without bias, and is named so."""
    return _mm(builder, call.tensor("self"), call.tensor("mat2"), None)


def _mm(builder: Builder, left: Node, right: Node, name: str | None) -> Node:
    is_linear = right.is_op("permute") and right.inputs[0].is_op("weight")
    return builder.op("mm", (left, right), name="linear" if is_linear else name)


def bmm(builder: Builder, call: Call) -> Node:
    """A product of two stacks of matrices."""
    return builder.op("bmm", (call.tensor("self"), call.tensor("mat2")))


def matmul(builder: Builder, call: Call) -> Node:
    """One product of matrices, or one of each pair in two stacks; canon has spelled all other forms."""
    left, right = call.tensor("self"), call.tensor("other")
    ranks = {left.type.rank, right.type.rank}
    if ranks not in ({2}, {3}) or left.shape[:-2] != right.shape[:-2]:
        raise Refused(f"matmul of shapes {list(left.shape)} and {list(right.shape)}")
    if left.type.rank == 2:
        return _mm(builder, left, right, "mm")
    return builder.op("bmm", (left, right), name="bmm")


def baddbmm(builder: Builder, call: Call) -> Node:
    """`beta * self + alpha * (batch1 @ batch2)`."""
    product = builder.inner("bmm", call.tensor("batch1"), call.tensor("batch2"))
    if call["alpha"] != 1:
        product = builder.inner("mul", product, builder.scalar(call["alpha"], call.dtype))
    if call["beta"] == 0:
        return product
    added = call.tensor("self")
    if call["beta"] != 1:
        added = builder.inner("mul", added, builder.scalar(call["beta"], call.dtype))
    return builder.op("add", (added, product))


def mv(builder: Builder, call: Call) -> Node:
    """A matrix times a vector."""
    vector = call.tensor("vec")
    column = builder.inner_view(vector, (*vector.shape, 1))
    return builder.view(builder.inner("mm", call.tensor("self"), column), call.shape)


def addmv(builder: Builder, call: Call) -> Node:
    """`beta * self + alpha * (mat @ vec)`."""
    vector, added = call.tensor("vec"), call.tensor("self")
    column = builder.inner_view(vector, (*vector.shape, 1))
    added = builder.inner_view(added, (*added.shape, 1))
    attributes = {"alpha": float(call["alpha"]), "beta": float(call["beta"])}
    return builder.view(builder.inner("addmm", added, call.tensor("mat"), column, **attributes), call.shape)


def dot(builder: Builder, call: Call) -> Node:
    """The product of two vectors, a scalar."""
    left, right = call.tensor("self"), call.tensor("tensor")
    row = builder.inner_view(left, (1, *left.shape))
    column = builder.inner_view(right, (*right.shape, 1))
    return builder.view(builder.inner("mm", row, column), ())


def trilinear(builder: Builder, call: Call) -> Node:
    """`x1 @ weight[n] @ x2` of every row, [B, N], as `torch.nn.functional.bilinear` spells it."""
    axes = tuple(tuple(call[name]) for name in ("expand1", "expand2", "expand3", "sumdim"))
    if axes != _BILINEAR:
        raise Refused(
            f"_trilinear with expanded and summed dimensions {axes}; that of bilinear is {_BILINEAR}"
        )
    left, weight, right = call.tensor("i1"), call.tensor("i2"), call.tensor("i3")
    n, width, other = weight.shape
    rows = builder.inner_view(builder.inner("permute", weight, perm=(0, 2, 1)), (n * other, width))
    turned = builder.op("linear", ((left,), rows, None), name=f"{builder.name}_linear")
    parts = builder.inner_view(turned, (left.shape[0], n, other))
    products = builder.inner("mul", parts, builder.inner_view(right, (right.shape[0], 1, other)))
    return builder.op("sum", (products,), {"dims": (2,)})


_BILINEAR = ((1, 3), (0,), (1, 2), (2, 3))

IMPORTERS = (
    (("aten.linear.default",), linear),
    (("aten.addmm.default",), addmm),
    (("aten.mm.default",), mm),
    (("aten.bmm.default",), bmm),
    (("aten.matmul.default",), matmul),
    (("aten.baddbmm.default",), baddbmm),
    (("aten.mv.default",), mv),
    (("aten.addmv.default",), addmv),
    (("aten.dot.default",), dot),
    (("aten._trilinear.default",), trilinear),
)
