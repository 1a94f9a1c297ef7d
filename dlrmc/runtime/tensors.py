"""torch tensors and NumPy arrays of one dtype, shape and memory."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from dlrmc.ir.types import DType, TensorType

TORCH_DTYPES = MappingProxyType(
    {
        DType.F64: torch.float64,
        DType.F32: torch.float32,
        DType.F16: torch.float16,
        DType.BF16: torch.bfloat16,
        DType.I64: torch.int64,
        DType.I32: torch.int32,
        DType.U8: torch.uint8,
        DType.I8: torch.int8,
        DType.BOOL: torch.bool,
    }
)

# Kernels read vectors of 16 bytes from the start of a buffer.
ALIGNMENT_BYTES = 16


def describe(tensor: torch.Tensor) -> str:
    """The dtype and shape of any tensor in the words of the IR where it has them: `f32[8,3]`."""
    names = {dtype: str(name) for name, dtype in TORCH_DTYPES.items()}
    dtype = names.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))
    return f"{dtype}[{','.join(str(int(size)) for size in tensor.shape)}]"


def to_numpy(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A contiguous array of the values; over the tensor's own memory where it is contiguous on the CPU."""
    tensor = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:  # NumPy has no such dtype and torch cannot export it
        return tensor.view(torch.int16).numpy().view(DType.BF16.numpy)
    return tensor.numpy()


def to_torch(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """A CPU tensor over the array's own memory; over a copy where that is read-only or not contiguous."""
    if not array.flags.writeable or not array.flags.c_contiguous:
        array = np.array(array, order="C")
    if DType.of_numpy(array.dtype) is DType.BF16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def empty(kind: TensorType, device: torch.device | str = "cpu") -> torch.Tensor:
    """An uninitialised contiguous tensor of an IR type."""
    return torch.empty(kind.shape, dtype=TORCH_DTYPES[kind.dtype], device=device)


def has_memory(tensor: torch.Tensor) -> bool:
    """Whether the elements, if any, lie at an address; not so for fake tensors, DTensors, torch.func."""
    if not tensor.numel():
        return True
    try:
        return bool(tensor.data_ptr())
    except (RuntimeError, Warning):  # of tensors that have no storage
        return False


def is_direct(tensor: torch.Tensor) -> bool:
    """Whether a kernel can read the memory as it is: contiguous, aligned, no lazy conjugate or negative."""
    if tensor.numel() == 0:
        return True
    lazy = tensor.is_neg() or tensor.is_conj()
    return tensor.is_contiguous() and tensor.data_ptr() % ALIGNMENT_BYTES == 0 and not lazy


def make_direct(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself where kernels can read it, else a contiguous and aligned copy on the same device."""
    return tensor if is_direct(tensor) else tensor.clone(memory_format=torch.contiguous_format)
