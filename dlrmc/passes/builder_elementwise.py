"""Making elementwise nodes, with one typed method for each op card."""

from __future__ import annotations

import math

from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType
from dlrmc.passes.builder_core import NodeBuilder


class ElementwiseBuilder(NodeBuilder):
    """The elementwise ops; each method makes one node and says what the card of its name says."""

    def sigmoid(self, x: Node) -> Node:
        return self.op("sigmoid", x)

    def tanh(self, x: Node) -> Node:
        return self.op("tanh", x)

    def silu(self, x: Node) -> Node:
        return self.op("silu", x)

    def neg(self, x: Node) -> Node:
        return self.op("neg", x)

    def abs(self, x: Node) -> Node:
        return self.op("abs", x)

    def exp(self, x: Node) -> Node:
        return self.op("exp", x)

    def log(self, x: Node) -> Node:
        return self.op("log", x)

    def sqrt(self, x: Node) -> Node:
        return self.op("sqrt", x)

    def rsqrt(self, x: Node) -> Node:
        return self.op("rsqrt", x)

    def reciprocal(self, x: Node) -> Node:
        return self.op("reciprocal", x)

    def erf(self, x: Node) -> Node:
        return self.op("erf", x)

    def sin(self, x: Node) -> Node:
        return self.op("sin", x)

    def cos(self, x: Node) -> Node:
        return self.op("cos", x)

    def floor(self, x: Node) -> Node:
        return self.op("floor", x)

    def logical_not(self, x: Node) -> Node:
        return self.op("logical_not", x)

    def relu(self, x: Node) -> Node:
        return self.op("relu", x)

    def add(self, a: Node, b: Node) -> Node:
        return self.op("add", a, b)

    def sub(self, a: Node, b: Node) -> Node:
        return self.op("sub", a, b)

    def mul(self, a: Node, b: Node) -> Node:
        return self.op("mul", a, b)

    def div(self, a: Node, b: Node) -> Node:
        return self.op("div", a, b)

    def pow(self, a: Node, b: Node) -> Node:
        return self.op("pow", a, b)

    def maximum(self, a: Node, b: Node) -> Node:
        return self.op("maximum", a, b)

    def minimum(self, a: Node, b: Node) -> Node:
        return self.op("minimum", a, b)

    def eq(self, a: Node, b: Node) -> Node:
        return self.op("eq", a, b)

    def ne(self, a: Node, b: Node) -> Node:
        return self.op("ne", a, b)

    def lt(self, a: Node, b: Node) -> Node:
        return self.op("lt", a, b)

    def le(self, a: Node, b: Node) -> Node:
        return self.op("le", a, b)

    def gt(self, a: Node, b: Node) -> Node:
        return self.op("gt", a, b)

    def ge(self, a: Node, b: Node) -> Node:
        return self.op("ge", a, b)

    def logical_and(self, a: Node, b: Node) -> Node:
        return self.op("logical_and", a, b)

    def logical_or(self, a: Node, b: Node) -> Node:
        return self.op("logical_or", a, b)

    def gelu(self, x: Node, *, approximate: str = "none") -> Node:
        return self.op("gelu", x, approximate=approximate)

    def leaky_relu(self, x: Node, *, slope: float = 0.01) -> Node:
        return self.op("leaky_relu", x, slope=slope)

    def elu(self, x: Node, *, alpha: float = 1.0) -> Node:
        return self.op("elu", x, alpha=alpha)

    def clamp(self, x: Node, *, min: float = -math.inf, max: float = math.inf) -> Node:
        return self.op("clamp", x, min=min, max=max)

    def cast(self, x: Node, to: DType) -> Node:
        return self.op("cast", x, to=to)

    def where(self, cond: Node, a: Node, b: Node) -> Node:
        return self.op("where", cond, a, b)
