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

# Takes a tuple of tensors.
MetadataCheck = Callable[[tuple[Any, ...]], bool]


def addresses_of(tensors: Sequence[torch.Tensor]) -> list[int]:
    """The address of each tensor's first element; 0 for an empty one."""
    return [*map(data_ptr, tensors)]


def data_ptr_function() -> int | None:
    """The address of a C function `void* (PyObject* tensor)`, as `data_ptr`; None where torch has none."""
    guards: Any = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    return getattr(guards, "_torchinductor_pyobject_tensor_data_ptr", None)


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


def metadata_check(tensors: Sequence[torch.Tensor], counted: Sequence[int] = ()) -> MetadataCheck:
    """A function of as many tensors: whether each has the class, dtype, device, shape and strides of these.

    The size of dimension 0 of the tensors at the places `counted` does not matter. It never says yes to
    others, but may say no to some that would do: to tensors of another autograd or inference mode.
    """
    try:
        return _tensor_matches(tensors, counted)
    except (ImportError, AttributeError, TypeError):
        readers = [_metadata_of_any_count if n in counted else _metadata for n in range(len(tensors))]
        wanted = [read(tensor) for read, tensor in zip(readers, tensors, strict=True)]
        return lambda found: all(read(t) == w for read, t, w in zip(readers, found, wanted, strict=True))


def _tensor_matches(tensors: Sequence[torch.Tensor], counted: Sequence[int]) -> MetadataCheck:
    """The check by which torch.compile guards its own graphs, over a tuple.

    Raises:
        ImportError, AttributeError, TypeError: this release of torch has none, or another one.
    """
    from torch._C._dynamo import guards
    from torch._dynamo.guards import GuardManagerType

    root: Any = guards.RootGuardManager()
    for place, tensor in enumerate(tensors):
        sizes: list[int | None] = list(tensor.shape)
        if place in counted:
            sizes[0] = None
        name, keys = f"tensor {place}", torch._C._dispatch_keys(tensor)
        item = root.tuple_getitem_manager(place, name, tensor, GuardManagerType.GUARD_MANAGER)
        strides = list(tensor.stride())
        item.add_tensor_match_guard(tensor, sizes, strides, name, [name], None, type(tensor), keys)
    return root.check


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
