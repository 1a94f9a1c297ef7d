"""torch dtypes and tensors in the terms of the IR."""

from __future__ import annotations

import torch

from dlrmc.frontend.refusal import Refused
from dlrmc.ir.op import Array
from dlrmc.ir.types import DType

_PAIRS: tuple[tuple[torch.dtype, DType], ...] = (
    (torch.float64, DType.F64),
    (torch.float32, DType.F32),
    (torch.float16, DType.F16),
    (torch.bfloat16, DType.BF16),
    (torch.int64, DType.I64),
    (torch.int32, DType.I32),
    (torch.uint8, DType.U8),
    (torch.int8, DType.I8),
    (torch.bool, DType.BOOL),
)


def dtype_of_torch(dtype: torch.dtype) -> DType:
    """The IR's dtype for a torch dtype.

    Raises:
        Refused: where the IR has no such type (complex, int16, float8, ...).
    """
    for theirs, ours in _PAIRS:
        if theirs == dtype:
            return ours
    names = ", ".join(str(theirs).removeprefix("torch.") for theirs, _ in _PAIRS)
    raise Refused(f"dtype {str(dtype).removeprefix('torch.')} is not one of {names}")


def torch_of_dtype(dtype: DType) -> torch.dtype:
    """The torch dtype for an IR dtype."""
    return next(theirs for theirs, ours in _PAIRS if ours is dtype)


def array_of_tensor(tensor: torch.Tensor) -> Array:
    """A packed NumPy copy of a tensor on any device; bfloat16 through ml_dtypes."""
    packed = tensor.detach().cpu().contiguous()
    if packed.dtype == torch.bfloat16:
        return packed.view(torch.int16).numpy().view(DType.BF16.numpy).copy()
    return packed.numpy().copy()
