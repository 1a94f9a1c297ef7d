"""The values of one plan that stay between calls: weights, constants, and what is derived from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from dlrmc.ir.graph import Node
from dlrmc.runtime.shared_weights import SharedWeights


class Residents:
    """One tensor on the device for each of a plan's residents, in order.

    Args:
        nodes: weight, const and derive nodes.
        weights: the user's tensors by target.
        device: where kernels run.
        shared: of other plans of the same program on this device, if any.

    Raises:
        InputError: a weight is missing, or its dtype or shape is not what the program was compiled for.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        weights: Mapping[str, torch.Tensor],
        device: torch.device,
        shared: SharedWeights | None = None,
    ) -> None:
        self.device = device
        self.shared = shared or SharedWeights(device)
        self.tensors = self.shared.place(nodes, weights)
        self._weights = weights

    @property
    def bytes(self) -> int:
        """Device memory that is not the user's own: moved weights, constants and derived values."""
        shared = {tensor.data_ptr() for tensor in self._weights.values() if tensor.device == self.device}
        return sum(t.nbytes for t in self.tensors if t.data_ptr() not in shared)
