"""The values that stay between calls: weights, constants, and what is derived from them.

A user's tensor that is already on the device is shared, never copied, where kernels can read it as it lies;
one on the CPU is moved once, at load. A `derive` node is evaluated once, by NumPy, and uploaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from dlrmc.errors import InputError
from dlrmc.ir.graph import Node
from dlrmc.ir.reference import evaluate
from dlrmc.runtime.tensors import TORCH_DTYPES, describe, make_direct, to_numpy, to_torch

Array = np.ndarray[Any, Any]


class Residents:
    """One tensor on the device for each of a plan's residents, in order.

    Args:
        nodes: weight, const and derive nodes.
        weights: the user's tensors by target.
        device: where kernels run.

    Raises:
        InputError: a weight is missing, or its dtype or shape is not what the program was compiled for.
    """

    def __init__(
        self, nodes: Sequence[Node], weights: Mapping[str, torch.Tensor], device: torch.device
    ) -> None:
        self.device = device
        self._weights = weights
        self._moved: dict[str, torch.Tensor] = {}
        self._arrays: dict[Node, Array] = {}
        self.tensors = tuple(self._place(node) for node in nodes)
        self._arrays.clear()  # host copies served the derived values only

    @property
    def bytes(self) -> int:
        """Device memory that is not the user's own: moved weights, constants and derived values."""
        shared = {tensor.data_ptr() for tensor in self._weights.values() if tensor.device == self.device}
        return sum(t.nbytes for t in self.tensors if t.data_ptr() not in shared)

    def _place(self, node: Node) -> torch.Tensor:
        if node.is_op("weight"):
            return self._place_weight(node)
        return make_direct(to_torch(self._evaluate(node)).to(self.device))

    def _place_weight(self, node: Node) -> torch.Tensor:
        """Shared where it can be; two nodes of one target are one tensor."""
        if node.target not in self._moved:
            tensor = checked_weight(node, self._weights).detach()
            self._moved[node.target] = make_direct(tensor.to(self.device))
        return self._moved[node.target]

    def _evaluate(self, node: Node) -> Array:
        if node not in self._arrays:
            self._arrays[node] = self._compute(node)
        return self._arrays[node]

    def _compute(self, node: Node) -> Array:
        if node.is_op("const"):
            return node.value
        if node.is_op("weight"):
            return to_numpy(checked_weight(node, self._weights))
        pairs = zip(node.body.inputs, node.inputs, strict=True)
        (result,) = evaluate(node.body, {inner.name: self._evaluate(outer) for inner, outer in pairs}, {})
        return np.ascontiguousarray(result).reshape(node.shape)


def checked_weight(node: Node, weights: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The user's tensor of a weight node.

    Raises:
        InputError: it is missing or has another dtype or shape.
    """
    tensor = weights.get(node.target)
    place = f'weight "{node.target}"'
    if tensor is None:
        raise InputError(place, found="no such tensor", expected=str(node.type))
    if tensor.dtype != TORCH_DTYPES[node.type.dtype] or tuple(tensor.shape) != node.shape:
        raise InputError(place, found=describe(tensor), expected=str(node.type), hint="compile again")
    return tensor
