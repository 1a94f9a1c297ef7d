"""The caller's own tensors for the results: `compiled(..., out=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dlrmc.errors import InputError
from dlrmc.frontend.program import ImportedProgram, ValueOutput
from dlrmc.ir.types import TensorType
from dlrmc.runtime.tensors import TORCH_DTYPES, describe, is_direct


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
        self._device = device

    def tensors(self, out: Any, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The tensors to write to. Leaves of `out` that stand for no computed result are not looked at.

        Raises:
            InputError: another structure, dtype, shape or device than the results; a tensor that kernels
                cannot write as it lies, that wants gradients, or that shares memory with an input or with
                another result.
        """
        found: dict[int, torch.Tensor] = {}
        for number, (declared, leaf) in enumerate(zip(self._outputs, self._leaves(out), strict=True)):
            if not isinstance(declared, ValueOutput):
                continue
            place = "out" if len(self._outputs) == 1 else f"out, result {number}"
            self._check(place, leaf, self._types[declared.index])
            if found.setdefault(declared.index, leaf) is not leaf:
                hint = "pass the same tensor for both"
                raise InputError(place, found="a tensor of its own", expected="that of its twin", hint=hint)
        tensors = [found[index] for index in range(len(self._types))]
        _check_apart(tensors, inputs)
        return tensors

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


def _check_apart(outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
    """Kernels read inputs while they write results."""
    taken = [_extent(tensor) for tensor in inputs if tensor.device == outputs[0].device] if outputs else []
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
