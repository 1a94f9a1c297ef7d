"""How the references compute: in which precision, and with which rounding."""

from __future__ import annotations

import numpy as np

from dlrmc.ir.op import Array
from dlrmc.ir.types import DType


def quiet() -> np.errstate:
    """A context in which infinities and NaNs arise without a warning, as they do in torch."""
    return np.errstate(all="ignore")


def widened(array: Array) -> Array:
    """The array in its compute type: f16 and bf16 as float32, all others as they are."""
    is_half = DType.of_numpy(array.dtype) in (DType.F16, DType.BF16)
    return array.astype(np.float32) if is_half else array


def exact(array: Array) -> Array:
    """A float array as float64, in which the oracle accumulates."""
    return array.astype(np.float64)


def rounded(array: Array, dtype: DType) -> Array:
    """The array rounded once to the dtype; a NumPy scalar becomes an array of rank 0."""
    return np.asarray(array).astype(dtype.numpy, copy=False)


def fused_multiply_add(a: Array, b: Array, c: Array) -> Array:
    """The value of a * b + c, rounded once to float32; plain arithmetic where c is float64.

    The product of two float32 is exact in float64. The sum is rounded to odd there (Boldo, Melquiond 2008),
    so that rounding it again to float32 gives the correctly rounded result.
    """
    if c.dtype != np.float32:
        return a * b + c
    product, addend = exact(a) * exact(b), exact(c)
    total = np.asarray(product + addend)
    shadow = total - product
    error = (product - (total - shadow)) + (addend - shadow)
    is_even = (total.view(np.int64) & 1) == 0
    is_inexact = np.isfinite(total) & np.isfinite(error) & (error != 0)
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(is_inexact & is_even, np.nextafter(total, toward), total).astype(np.float32)
