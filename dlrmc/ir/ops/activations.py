"""The activations: one meaning for the elementwise op and for the epilogue of `linear`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dlrmc.ir.op import Array
from dlrmc.ir.ops.numeric import quiet
from dlrmc.ir.types import DType

_ERF = np.frompyfunc(math.erf, 1, 1)
_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of one number and of the attribute `slope`.

    Attributes:
        numpy: the value for a float32 or float64 array, in that precision.
        cuda: the expression for an argument of the compute type of a dtype (float, or double for f64).
    """

    numpy: Callable[[Array, float], Array]
    cuda: Callable[[str, DType, float], str]


def library(name: str, dtype: DType) -> str:
    """The C name of a math function for a compute type: `exp` for double, `expf` for float."""
    return name if dtype is DType.F64 else f"{name}f"


def literal(value: float, dtype: DType) -> str:
    """A C literal of the compute type of a float dtype; infinities are written as a division."""
    is_double = dtype is DType.F64
    suffix = "" if is_double else "f"
    with quiet():
        number = np.float64(value) if is_double else np.float32(value)
    if np.isinf(number):
        return f"({'-' if number < 0 else ''}1.0{suffix} / 0.0{suffix})"
    digits = str(number)
    digits = digits if "." in digits or "e" in digits else f"{digits}.0"
    return f"({digits}{suffix})" if digits.startswith("-") else f"{digits}{suffix}"


def erf(x: Array) -> Array:
    """The error function, computed in float64 and rounded to the dtype of x."""
    return np.asarray(_ERF(x.astype(np.float64)), dtype=np.float64).astype(x.dtype)


def gelu(x: Array) -> Array:
    """X * Phi(x), Phi by erf."""
    return x * 0.5 * (1.0 + erf(x * x.dtype.type(_SQRT_HALF)))


def gelu_tanh(x: Array) -> Array:
    """X * Phi(x), Phi by its tanh approximation."""
    return 0.5 * x * (1.0 + np.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)))


def _relu(x: Array, slope: float) -> Array:
    return np.maximum(x, x.dtype.type(0))


def _sigmoid(x: Array, slope: float) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def _silu(x: Array, slope: float) -> Array:
    return x / (1.0 + np.exp(-x))


def _leaky_relu(x: Array, slope: float) -> Array:
    return np.where(x > 0, x, x * x.dtype.type(slope))


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        "none": Activation(lambda x, slope: x, lambda x, dtype, slope: x),
        "relu": Activation(_relu, lambda x, dtype, slope: f"dlrmc_relu({x})"),
        "sigmoid": Activation(_sigmoid, lambda x, dtype, slope: f"dlrmc_sigmoid({x})"),
        "tanh": Activation(
            lambda x, slope: np.tanh(x), lambda x, dtype, slope: f"{library('tanh', dtype)}({x})"
        ),
        "gelu": Activation(lambda x, slope: gelu(x), lambda x, dtype, slope: f"dlrmc_gelu({x})"),
        "gelu_tanh": Activation(
            lambda x, slope: gelu_tanh(x), lambda x, dtype, slope: f"dlrmc_gelu_tanh({x})"
        ),
        "silu": Activation(_silu, lambda x, dtype, slope: f"dlrmc_silu({x})"),
        "leaky_relu": Activation(
            _leaky_relu, lambda x, dtype, slope: f"dlrmc_leaky_relu({x}, {literal(slope, dtype)})"
        ),
    }
)
