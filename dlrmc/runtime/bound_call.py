"""Fixed inputs and outputs on the targets without a graph to launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

Run = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor]], None]


class RepeatedCall:
    """The same tensors every time; `outputs` are overwritten by each run.

    Args:
        run_into: computes from inputs into outputs.
        inputs: read anew by every run.
        outputs: contiguous tensors of the graph's outputs.
    """

    def __init__(
        self, run_into: Run, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
    ) -> None:
        self._run_into = run_into
        self._inputs = tuple(inputs)
        self.outputs = list(outputs)

    def run(self) -> None:
        """Compute the outputs from what the inputs hold now."""
        self._run_into(self._inputs, self.outputs)
