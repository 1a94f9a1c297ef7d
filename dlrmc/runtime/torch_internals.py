"""The few functions of torch without a leading public name that the call path needs for its speed.

Each has a public counterpart of the same meaning, which serves where a release of torch lacks the quick one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from dlrmc.ir.strided import packed_strides
from dlrmc.ir.types import TensorType
from dlrmc.runtime.tensors import TORCH_DTYPES

# A method descriptor: `map` calls it without a look-up of the name for each tensor.
data_ptr: Callable[[torch.Tensor], int] = torch._C.TensorBase.data_ptr


def addresses_of(tensors: Sequence[torch.Tensor]) -> list[int]:
    """The address of each tensor's first element; 0 for an empty one."""
    return [*map(data_ptr, tensors)]


def empty_maker(kind: TensorType, device: torch.device) -> Callable[[], torch.Tensor]:
    """A function that makes uninitialised contiguous tensors of one type on the current device.

    `torch.empty` spends most of its time on reading its arguments; compiled code of torch uses this instead.
    """
    guards: Any = getattr(torch._C, "_dynamo", None)
    quick = getattr(getattr(guards, "guards", None), f"_empty_strided_{device.type}", None)
    dtype = TORCH_DTYPES[kind.dtype]
    if quick is None:
        return partial(torch.empty, kind.shape, dtype=dtype, device=device)
    return partial(quick, tuple(kind.shape), tuple(packed_strides(kind.shape)), dtype)


def metadata_check(tensors: Sequence[torch.Tensor], counted: Sequence[int] = ()) -> Callable[..., bool]:
    """A function of as many tensors: whether each has the class, dtype, device, shape and strides of these.

    The size of dimension 0 of the tensors at the places `counted` does not matter. It says no to some that
    would do, never yes to others: to one tensor passed twice, and to tensors of another autograd or inference
    mode.
    """
    guards: Any = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    if guards is None or not hasattr(guards, "TensorGuards"):
        readers = [_metadata_of_any_count if n in counted else _metadata for n in range(len(tensors))]
        wanted = [read(tensor) for read, tensor in zip(readers, tensors, strict=True)]
        return lambda *found: all(read(t) == w for read, t, w in zip(readers, found, wanted, strict=True))
    sizes: list[list[int | None]] = [list(tensor.shape) for tensor in tensors]
    for place in counted:
        sizes[place][0] = None
    strides = [list(tensor.stride()) for tensor in tensors]
    return guards.TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check


def _metadata(tensor: Any) -> Any:
    if not isinstance(tensor, torch.Tensor):
        return None
    lazy = tensor.is_neg() or tensor.is_conj()
    return type(tensor), tensor.dtype, tensor.device, tensor.shape, tensor.stride(), lazy


def _metadata_of_any_count(tensor: Any) -> Any:
    if not isinstance(tensor, torch.Tensor) or not tensor.ndim:
        return None
    kind, dtype, device, shape, strides, lazy = _metadata(tensor)
    return kind, dtype, device, shape[1:], strides, lazy
