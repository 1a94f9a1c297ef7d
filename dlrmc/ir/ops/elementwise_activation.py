"""Activations as ops of their own; `linear` has most of them in its epilogue too."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.op import Array, AttributeSpec, Op
from dlrmc.ir.ops.activations import ACTIVATIONS, literal
from dlrmc.ir.ops.elementwise_base import Formula, Unary
from dlrmc.ir.types import DType


class _Activation(Unary):
    """An activation, also known to the epilogue of `linear`."""

    activation: ClassVar[str]

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        return ACTIVATIONS[self.activate(attributes)].numpy(arrays[0], self.slope(attributes))

    def cuda(self, arguments: tuple[str, ...], dtypes: tuple[DType, ...], attributes: Attributes) -> str:
        return ACTIVATIONS[self.activate(attributes)].cuda(arguments[0], dtypes[0], self.slope(attributes))

    def activate(self, attributes: Attributes) -> str:
        """The name in ACTIVATIONS."""
        return self.activation

    def slope(self, attributes: Attributes) -> float:
        """The attribute of `leaky_relu`."""
        return 0.0


class Relu(_Activation):
    """max(x, 0) of a number of any shape; a NaN stays (aten.relu)."""

    name = "relu"
    aten = ("aten.relu.default",)
    accepts = "number"
    activation = "relu"


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)) of a float of any shape (aten.sigmoid)."""

    name = "sigmoid"
    aten = ("aten.sigmoid.default",)
    activation = "sigmoid"


class Tanh(_Activation):
    """The hyperbolic tangent of a float of any shape (aten.tanh)."""

    name = "tanh"
    aten = ("aten.tanh.default",)
    activation = "tanh"


class Silu(_Activation):
    """x / (1 + exp(-x)) of a float of any shape (aten.silu)."""

    name = "silu"
    aten = ("aten.silu.default",)
    activation = "silu"


class Gelu(_Activation):
    """x * Phi(x) of a float of any shape, Phi by erf or by its tanh approximation (aten.gelu)."""

    name = "gelu"
    aten = ("aten.gelu.default",)
    attributes = (AttributeSpec("approximate", "str", "none", ("none", "tanh")),)

    def activate(self, attributes: Attributes) -> str:
        return "gelu" if attributes.str("approximate") == "none" else "gelu_tanh"


class LeakyRelu(_Activation):
    """x where x > 0, else slope * x, of a float of any shape (aten.leaky_relu)."""

    name = "leaky_relu"
    aten = ("aten.leaky_relu.default",)
    attributes = (AttributeSpec("slope", "float", 0.01),)
    activation = "leaky_relu"

    def slope(self, attributes: Attributes) -> float:
        return attributes.float("slope")


class Elu(Formula):
    """x where x > 0, else alpha * (exp(x) - 1), of a float of any shape (aten.elu with scale 1)."""

    name = "elu"
    aten = ("aten.elu.default",)
    attributes = (AttributeSpec("alpha", "float", 1.0),)

    def compute(self, arrays: tuple[Array, ...], attributes: Attributes) -> Array:
        (x,) = arrays
        return np.where(x > 0, x, np.expm1(x) * x.dtype.type(attributes.float("alpha")))

    def expression(self, x: str, dtype: DType, attributes: Attributes) -> str:
        return f"dlrmc_elu({x}, {literal(attributes.float('alpha'), dtype)})"


OPS: tuple[Op, ...] = (
    Relu(),
    Sigmoid(),
    Tanh(),
    Silu(),
    Gelu(),
    LeakyRelu(),
    Elu(),
)
