"""The few functions of torch without a leading public name that the call path needs for its speed.

Each has a public counterpart of the same meaning, which serves where a release of torch lacks the quick one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import eq
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


def address_comparer(count: int) -> Callable[[list[torch.Tensor], list[int]], bool]:
    """A function that says whether `count` tensors begin at the addresses given.

    torch compares them in one call (the same that its own CUDA graphs use).
    """
    compare = getattr(torch._C, "_tensors_data_ptrs_at_indices_equal", None)
    if compare is None:
        return lambda tensors, addresses: all(map(eq, map(data_ptr, tensors), addresses))
    indices = list(range(count))
    return lambda tensors, addresses: compare(tensors, addresses, indices)


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


def metadata_check(tensors: Sequence[torch.Tensor]) -> Callable[..., bool]:
    """A function of as many tensors: whether each has the class, dtype, device, shape and strides of these.

    It says no to some that would do, never yes to others: to one tensor passed twice, and to tensors of
    another autograd or inference mode.
    """
    guards: Any = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    if guards is None or not hasattr(guards, "TensorGuards"):
        wanted = [_metadata(tensor) for tensor in tensors]
        return lambda *found: all(map(eq, map(_metadata, found), wanted))
    sizes = [list(tensor.shape) for tensor in tensors]
    strides = [list(tensor.stride()) for tensor in tensors]
    return guards.TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check


def _metadata(tensor: Any) -> Any:
    if not isinstance(tensor, torch.Tensor):
        return None
    lazy = tensor.is_neg() or tensor.is_conj()
    return type(tensor), tensor.dtype, tensor.device, tensor.shape, tensor.stride(), lazy
