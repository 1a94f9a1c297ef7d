"""The fault records in device memory, and how the host learns of a fault without waiting.

A kernel that finds a bad id writes its own record and sets one word of pinned host memory. So a good call
costs the host a look at its own memory, and the GPU nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from dlrmc.codegen.fault_record import FAULTS_DTYPE
from dlrmc.runtime.cuda_driver import CudaDriver
from dlrmc.runtime.faults import Fault, fault_count, first_fault

_COUNT_WORD = FAULTS_DTYPE.fields["count"][1] // 4  # type: ignore[index]


class DeviceFaults:
    """The fault records of one executor.

    Args:
        driver: of the GPU where the kernels run.
        grids: the number of blocks of each kernel that checks.
        is_told: whether kernels are to set `news`.

    Attributes:
        news: one word of host memory; not zero since a kernel found a bad id.
    """

    def __init__(self, driver: CudaDriver, grids: Sequence[int], *, is_told: bool) -> None:
        self._driver = driver
        self._grids = tuple(grids)
        self._is_told = is_told
        is_pinned = driver.device.type == "cuda"
        # "cpu" is said, as a program may be compiled under a default device.
        self._news_memory = torch.zeros(1, dtype=torch.int32, device="cpu", pin_memory=is_pinned)
        self.news = memoryview(self._news_memory.numpy())  # type: ignore[arg-type]
        records = np.zeros(len(grids), dtype=FAULTS_DTYPE)
        records["news"] = driver.device_address(self._news_memory) if is_told else 0
        self._words = torch.from_numpy(records.view(np.int32).copy()).to(driver.device)
        driver.synchronize_stream()  # the records are there before a call on any stream

    @property
    def address(self) -> int:
        """Device address of the first record."""
        return self._words.data_ptr()

    def take(self) -> Fault | None:
        """What was recorded, once. No kernel of the executor may be running."""
        fault = first_fault(self._read(), self._grids)
        self._words.view(-1, FAULTS_DTYPE.itemsize // 4)[:, _COUNT_WORD].zero_()
        self.news[0] = 0
        self._driver.synchronize_stream()
        return fault

    def count(self) -> int:
        """Checks that failed since the last `take`, in calls that are over."""
        if self._is_told and not self.news[0]:
            return 0
        return fault_count(self._read())

    def _read(self) -> np.ndarray:
        return self._words.cpu().numpy().view(FAULTS_DTYPE)
