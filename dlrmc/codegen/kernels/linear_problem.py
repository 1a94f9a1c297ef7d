"""What a linear kernel computes, in one form for `linear`, `mm` and `addmm`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.windows import Window, Windows
from dlrmc.codegen.scalar_types import COMPUTE_TYPES
from dlrmc.ir.graph import Node
from dlrmc.ir.op import many, one, optional
from dlrmc.ir.ops.activations import ACTIVATIONS
from dlrmc.ir.types import DType

LINEAR_OPS = ("linear", "mm", "addmm")


@dataclass(frozen=True, slots=True)
class Matrix:
    """A window seen as a matrix: rows and columns of these strides."""

    window: Window
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of x: `width` columns of [rows, width]."""

    matrix: Matrix
    width: int


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What becomes of an element of the product behind its activation (linear_epilogue.py).

    Args:
        statements: in C.
        result: the C expression of the element, of `value` and of `operands`; empty where it is the value.
        operands: matrices [rows, n] that are read at the same place, strides being 0 where they broadcast.
    """

    statements: tuple[str, ...] = ()
    result: str = ""
    operands: tuple[Matrix, ...] = ()


@dataclass(frozen=True, slots=True)
class LinearProblem:
    """y[rows, n] = epilogue(act(alpha * x[rows, k] @ w[n, k].T + beta * bias[rows, n])).

    `weight` has n as rows and k as columns; `bias` may have strides of 0.
    """

    dtype: DType
    rows: int
    n: int
    k: int
    parts: tuple[Part, ...]
    weight: Matrix
    bias: Matrix | None
    y: Matrix
    alpha: float
    beta: float
    activation: str
    slope: float
    epilogue: Epilogue = field(default_factory=Epilogue)

    @property
    def activation_expression(self) -> str:
        """The C expression of the activation of `value`."""
        return ACTIVATIONS[self.activation].cuda("value", self.dtype, self.slope)

    @property
    def compute_type(self) -> str:
        """The C type of sums."""
        return COMPUTE_TYPES[self.dtype]


def linear_problem(impl: KernelImpl, anchor: Node, windows: Windows) -> LinearProblem:
    """Read the problem off the anchor.

    Raises:
        CodegenError: where an operand is no strided window, or the rows of a part of x or of y do not nest.
    """
    match anchor.op.name:
        case "linear":
            parts, weight, bias = (
                many(anchor.operands[0]),
                one(anchor.operands[1]),
                optional(anchor.operands[2]),
            )
            matrix = as_matrix(windows.operand(weight))
        case "mm":
            parts, weight, bias = (one(anchor.operands[0]),), one(anchor.operands[1]), None
            matrix = _transposed(as_matrix(windows.operand(weight)))
        case _:
            bias, first, weight = (one(operand) for operand in anchor.operands)
            parts, matrix = (first,), _transposed(as_matrix(windows.operand(weight)))
    rows, n = math.prod(anchor.shape[:-1]), anchor.shape[-1]
    attributes = anchor.attributes
    beta = attributes.float("beta") if "beta" in attributes else 1.0
    read = tuple(Part(_rows_matrix(impl, part, windows.operand(part)), part.shape[-1]) for part in parts)
    return LinearProblem(
        dtype=anchor.type.dtype,
        rows=rows,
        n=n,
        k=sum(part.width for part in read),
        parts=tuple(part for part in read if part.width),
        weight=matrix,
        bias=None if bias is None or beta == 0.0 else _bias_matrix(windows.operand(bias)),
        y=_rows_matrix(impl, anchor, windows.result(anchor)),
        alpha=attributes.float("alpha") if "alpha" in attributes else 1.0,
        beta=beta,
        activation=attributes.str("act") if "act" in attributes else "none",
        slope=attributes.float("slope") if "slope" in attributes else 0.0,
    )


def as_matrix(window: Window) -> Matrix:
    """A matrix; the stride of a dimension of size 1 is never used and set to what constrains least."""
    (rows, columns), (row, column) = window.shape, window.strides
    return Matrix(window, row if rows > 1 else 0, column if columns > 1 else 1)


def _transposed(matrix: Matrix) -> Matrix:
    return Matrix(matrix.window, matrix.column, matrix.row)


def _rows_matrix(impl: KernelImpl, node: Node, window: Window) -> Matrix:
    """All dimensions but the last as rows of one stride."""
    rows = math.prod(window.shape[:-1])
    flat = window.reshaped((rows, window.shape[-1]))
    if flat is None:
        found = f"shape {list(window.shape)} with strides {list(window.strides)}"
        raise impl.refuse(f"%{node.name}", found, "rows of one stride; make a copy")
    return as_matrix(flat)


def _bias_matrix(window: Window) -> Matrix:
    """A bias that broadcasts to [rows, n]; dimensions of size 1 have stride 0."""
    strides = [0 if size == 1 else stride for size, stride in zip(window.shape, window.strides, strict=True)]
    row, column = ((0, 0, *strides))[-2:]
    return Matrix(window, row, column)
