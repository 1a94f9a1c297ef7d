"""Fixed inputs and outputs on the targets without a graph to launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dlrmc.runtime.quick_call import no_quick_step

Run = Callable[[list[torch.Tensor], list[torch.Tensor]], Any]


class RepeatedCall:
    """The same tensors every time; `outputs` are overwritten by each run.

    Args:
        run_into: computes from inputs into outputs.
        check: of the executor.
        inputs: read anew by every run.
        outputs: contiguous tensors of the graph's outputs.
    """

    def __init__(
        self,
        run_into: Run,
        check: Callable[[], None],
        inputs: Sequence[torch.Tensor],
        outputs: Sequence[torch.Tensor],
    ) -> None:
        self._run_into = run_into
        self.check = check
        self._inputs = list(inputs)
        self.outputs = list(outputs)
        self.quick = no_quick_step

    def run(self) -> None:
        """Compute the outputs from what the inputs hold now."""
        self._run_into(self._inputs, self.outputs)
