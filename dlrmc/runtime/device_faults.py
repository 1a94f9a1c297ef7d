"""The fault record in device memory, and how the host learns of it without waiting.

Kernels write `Faults` in device memory. After the last of a call that checks bounds, one thread counts the
call and, only where there is news, writes the first fault and its call into pinned host memory. So a good
call costs the host a look at its own memory. That kernel stands on a branch of the graph of its own, beside
the kernels that follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from dlrmc.runtime.faults import FAULTS_DTYPE, Fault

_PROGRESS_WORDS = 2
_PUBLISHED_DTYPE = np.dtype([*FAULTS_DTYPE.descr, ("call", np.int64)], align=True)


class DeviceFaults:
    """The fault records of one executor.

    Args:
        device: where the kernels run.
        functions: the service kernels by name.
    """

    def __init__(self, device: torch.device, functions: Mapping[str, Any]) -> None:
        self._device = device
        self._functions = functions
        words = FAULTS_DTYPE.itemsize // 8
        self._faults = torch.zeros(words, dtype=torch.int64, device=device)
        self._progress = torch.zeros(_PROGRESS_WORDS, dtype=torch.int64, device=device)
        published = torch.zeros(_PUBLISHED_DTYPE.itemsize // 8, dtype=torch.int64).pin_memory()
        self._published_memory = published  # under unified addressing the device writes to this very address
        self._published = published.numpy().view(_PUBLISHED_DTYPE)
        torch.cuda.synchronize(device)  # the zeros are there before a call on any stream

    @property
    def address(self) -> int:
        """Device address of the record that kernels write."""
        return self._faults.data_ptr()

    def publish(self, stream: Any) -> None:
        """Launch the kernel that counts the call and tells the host of news."""
        pointers = (self.address, self._progress.data_ptr(), self._published_memory.data_ptr())
        arguments = tuple(np.uint64(pointer) for pointer in pointers)
        self._functions["dlrmc_publish_faults"]((1,), (32,), arguments, 0, stream)

    def has_news(self) -> bool:
        """Whether a finished call recorded a fault; looks at host memory only."""
        return int(self._published["count"][0]) != 0

    def take(self) -> Fault | None:
        """The fault that was published, once; waits for the device, so that no kernel writes meanwhile."""
        torch.cuda.synchronize(self._device)
        if not self.has_news():
            return None
        fault = Fault.of(self._published[0], call=int(self._published["call"][0]))
        self._faults.zero_()
        self._progress[1] = 0  # the count of calls goes on
        torch.cuda.synchronize(self._device)
        self._published[0] = np.zeros((), dtype=_PUBLISHED_DTYPE)
        return fault

    def count(self) -> int:
        """Faults since the last `take`; waits for the device."""
        torch.cuda.synchronize(self._device)
        return int(self._faults.cpu().numpy().view(FAULTS_DTYPE)["count"][0])
