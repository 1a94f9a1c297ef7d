"""The full check of one tensor of a call, and the words for what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dlrmc.errors import InputError
from dlrmc.frontend.program import ImportedProgram, TensorInput
from dlrmc.ir.types import TensorType
from dlrmc.runtime.tensors import TORCH_DTYPES, describe, has_memory


class TensorCheck:
    """Compares tensors with what was exported.

    Args:
        program: as imported.
        devices: the kinds of device an input may be on, the model's first.
        counted: the numbers of the inputs that may have any number of elements.
    """

    def __init__(self, program: ImportedProgram, devices: Sequence[str], counted: Sequence[int]) -> None:
        self._types = tuple(node.type for node in program.graph.inputs)
        self._dims = {(each.path, each.dim): each for each in program.input_dims}
        self._devices = tuple(devices)
        self._counted = frozenset(counted)

    def check(self, declared: TensorInput, leaf: Any) -> None:
        """Look at what a call passes as one input.

        Raises:
            InputError: another dtype, shape, layout or device, no memory, or no tensor; the message names
                the input by the user's own path.
        """
        path, expected = declared.path, self._types[declared.index]
        if not isinstance(leaf, torch.Tensor):
            hint = "pass a torch.Tensor"
            raise InputError(path, found=f"a {type(leaf).__name__}", expected=f"tensor {expected}", hint=hint)
        if leaf.dtype != TORCH_DTYPES[expected.dtype]:
            hint = f"{path}.to({TORCH_DTYPES[expected.dtype]}), or export again with this dtype"
            raise InputError(path, found=describe(leaf), expected=str(expected), hint=hint)
        has_any_count = declared.index in self._counted and leaf.ndim == 1
        if tuple(leaf.shape) != expected.shape and not has_any_count:
            hint = self._shape_hint(path, leaf, expected)
            raise InputError(path, found=describe(leaf), expected=str(expected), hint=hint)
        if leaf.layout is not torch.strided:
            found = f"layout {leaf.layout}"
            raise InputError(path, found=found, expected="a dense tensor", hint="to_dense()")
        if str(leaf.device) not in self._devices:
            found = f"a tensor on {leaf.device}"
            hint = f"{path}.to({self._devices[0]!r})"
            raise InputError(path, found=found, expected=f"one on {' or '.join(self._devices)}", hint=hint)
        if not has_memory(leaf):
            found = f"a {type(leaf).__name__} without memory"
            hint = "call it outside of fake tensor modes and torch.func, with the local tensor of a DTensor"
            raise InputError(path, found=found, expected="a tensor whose values lie in memory", hint=hint)

    def _shape_hint(self, path: str, leaf: torch.Tensor, expected: TensorType) -> str:
        if leaf.ndim != len(expected.shape):
            return f"a tensor of {len(expected.shape)} dimensions"
        dims = [i for i, (a, b) in enumerate(zip(leaf.shape, expected.shape, strict=True)) if a != b]
        tied = [dim for dim in dims if (each := self._dims.get((path, dim))) and each.symbol]
        if tied:
            texts = [f"dimension {dim} is {self._dims[path, dim].symbol}" for dim in tied]
            return f"{', '.join(texts)}, and another input says {expected.shape[tied[0]]}"
        dims_text = ", ".join(f"dimension {i} at {expected.shape[i]}" for i in dims)
        return (
            f"the export fixed {dims_text}; export again with an example of this size, or with "
            "dynamic_shapes= and a torch.export.Dim for any size (an example of 1 is fixed by Dim.AUTO)"
        )
