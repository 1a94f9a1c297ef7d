"""The caller's own tensors for the results: `compiled(..., out=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from dlrmc.errors import InputError
from dlrmc.frontend.program import ImportedProgram, ValueOutput
from dlrmc.ir.types import TensorType
from dlrmc.runtime.metadata_guard import MetadataGuard
from dlrmc.runtime.tensors import ALIGNMENT_BYTES, TORCH_DTYPES, describe, is_direct
from dlrmc.runtime.torch_internals import addresses_of


class OutArgument:
    """Checks `out` and puts its tensors in the order of the graph's outputs.

    Args:
        program: as imported.
        device: of the results.
    """

    def __init__(self, program: ImportedProgram, device: str) -> None:
        self._out_spec = program.out_spec
        self._outputs = program.outputs
        self._types = tuple(node.type for node in program.graph.outputs)
        self._is_counted = bool(program.counted)
        self._input_bytes = [node.type.size_bytes for node in program.graph.inputs]
        self._device = device
        self._guard = MetadataGuard()
        # Whether the results are the graph's outputs, as one tensor or as a tuple of them.
        in_order = [ValueOutput(index) for index in range(len(self._types))] == list(program.outputs)
        example: Any = pytree.tree_unflatten(list(range(len(program.outputs))), program.out_spec)
        self._is_plain = in_order and example in (0, tuple(range(len(self._types))))
        self._is_single = self._is_plain and example == 0

    def tensors(self, out: Any, inputs: Sequence[torch.Tensor], *, is_ready: bool) -> list[torch.Tensor]:
        """The tensors to write to. Leaves of `out` that stand for no computed result are not looked at.

        Args:
            out: as the caller passed it.
            inputs: of the call.
            is_ready: whether every input is contiguous and on the device of the kernels.

        Raises:
            InputError: another structure, dtype, shape or device than the results; a tensor that kernels
                cannot write as it lies, that wants gradients, or that shares memory with an input or with
                another result.
        """
        tensors = self._recognise(out)
        if tensors is None:
            tensors = self._checked(out)
            self._guard.learn(tensors)
        if is_ready and not self._is_counted:
            sized = zip(addresses_of(inputs), self._input_bytes, strict=True)
            taken = [(begin, begin + size) for begin, size in sized]
        else:
            taken = [_extent(tensor) for tensor in inputs if str(tensor.device) == self._device]
        _check_apart(tensors, taken)
        return tensors

    def _recognise(self, out: Any) -> list[torch.Tensor] | None:
        """The tensors of an `out` that looks like an earlier good one."""
        if not self._is_plain or not (self._is_single or type(out) is tuple):
            return None
        tensors: list[Any] = [out] if self._is_single else [*out]
        if len(tensors) != len(self._types) or not self._guard.accepts(tensors):
            return None
        is_aligned = not any(address % ALIGNMENT_BYTES for address in addresses_of(tensors))
        return tensors if is_aligned else None

    def _checked(self, out: Any) -> list[torch.Tensor]:
        found: dict[int, torch.Tensor] = {}
        for number, (declared, leaf) in enumerate(zip(self._outputs, self._leaves(out), strict=True)):
            if not isinstance(declared, ValueOutput):
                continue
            place = "out" if len(self._outputs) == 1 else f"out, result {number}"
            self._check(place, leaf, self._types[declared.index])
            if found.setdefault(declared.index, leaf) is not leaf:
                hint = "pass the same tensor for both"
                raise InputError(place, found="a tensor of its own", expected="that of its twin", hint=hint)
        return [found[index] for index in range(len(self._types))]

    def _leaves(self, out: Any) -> list[Any]:
        try:
            return self._out_spec.flatten_up_to(out)
        except ValueError as error:
            raise InputError("out", found=str(error), expected="the structure of the results") from error

    def _check(self, place: str, leaf: Any, expected: TensorType) -> None:
        wanted = f"a contiguous {expected} on {self._device} at a multiple of 16 bytes, without gradients"
        if not isinstance(leaf, torch.Tensor):
            raise InputError(place, found=f"a {type(leaf).__name__}", expected=wanted)
        fits = leaf.dtype == TORCH_DTYPES[expected.dtype] and tuple(leaf.shape) == expected.shape
        if fits and str(leaf.device) == self._device and is_direct(leaf) and not leaf.requires_grad:
            return
        strides = ",".join(map(str, leaf.stride()))
        found = f"{describe(leaf)} on {leaf.device} with strides [{strides}]"
        raise InputError(place, found=found, expected=wanted, hint="torch.empty makes such a tensor")


def _check_apart(outputs: Sequence[torch.Tensor], taken: list[tuple[int, int]]) -> None:
    """Kernels read inputs while they write results: no output may overlap with a range of addresses taken."""
    for tensor in outputs:
        begin, end = _extent(tensor)
        if any(begin < other_end and other_begin < end for other_begin, other_end in taken):
            raise InputError(
                "out",
                found="a tensor that shares memory with an input or another result",
                expected="memory of its own",
                hint="torch.empty_like(it)",
            )
        taken.append((begin, end))


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses from the first to behind the last element; empty for an empty tensor."""
    if not tensor.numel():
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()
