"""What a target must be able to do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import torch

from dlrmc.runtime.binding import Binder
from dlrmc.runtime.quick_call import QuickCall, QuickStep
from dlrmc.runtime.shared_weights import SharedWeights


class BoundCall(Protocol):
    """A call with fixed inputs and outputs."""

    @property
    def outputs(self) -> Sequence[torch.Tensor]:
        """The tensors that every run writes, one for each output of the graph."""
        ...

    @property
    def quick(self) -> QuickStep:
        """Runs in the shortest way, or says that it did not."""
        ...

    def run(self) -> None:
        """Compute the outputs from what the inputs hold now."""
        ...

    def check(self) -> None:
        """Wait, and raise what the runs recorded; see `Executor.check`."""
        ...


class Executor(Protocol):
    """A compiled program that is ready to run on one device."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that inputs may be on, the one of the kernels first."""
        ...

    def run(
        self,
        inputs: list[torch.Tensor],
        outputs: list[torch.Tensor] | None = None,
        *,
        is_ready: bool = False,
    ) -> list[torch.Tensor]:
        """The outputs for checked inputs.

        Args:
            inputs: in the order of `graph.inputs`.
            outputs: contiguous and aligned tensors to write to, apart from the inputs; fresh ones where None.
            is_ready: whether every input is contiguous and on the device of the kernels.

        Raises:
            BoundsError: under `bounds="raise"` a fault of this call, under `"deferred"` one of an earlier
                call.
        """
        ...

    def quick_call(self, binder: Binder) -> QuickCall:
        """A function that runs ordinary calls in the shortest way, and gives None for any other."""
        ...

    def bind(self, inputs: Sequence[torch.Tensor]) -> BoundCall:
        """A call that reads these very tensors every time.

        Raises:
            InputError: kernels cannot read one of them as it lies.
        """
        ...

    def check(self) -> None:
        """Wait for all calls and raise what they recorded.

        Raises:
            BoundsError: an id or offset of some call was out of range.
        """
        ...

    def fault_count(self) -> int:
        """How many ids and offsets were out of range in all calls up to now; waits for them."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """While it is open no call runs, and all earlier ones are over."""
        ...

    def raise_recorded(self) -> None:
        """Raise what calls have recorded up to now, as the next call would; does not wait.

        Raises:
            BoundsError: an id or offset of some call was out of range.
        """
        ...

    @property
    def weights(self) -> SharedWeights:
        """What calls read beside their inputs."""
        ...

    def replica(self) -> Executor:
        """Another instance over the same code and weights, to run beside this one."""
        ...

    @property
    def calls(self) -> int:
        """How many calls were issued."""
        ...

    @property
    def calls_without_graph(self) -> int:
        """How many were not one launch of a CUDA graph, captures of the caller's own included."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Memory held between calls that is not the user's own."""
        ...
