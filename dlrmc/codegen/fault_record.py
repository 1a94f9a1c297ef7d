"""The record of ids out of range that each checking kernel keeps: `struct Faults` of cuda/faults.cuh."""

from __future__ import annotations

from typing import Final

import numpy as np

FAULTS_DTYPE: Final = np.dtype(
    [
        ("ended_blocks", np.uint64),
        ("news", np.uint64),
        ("count", np.uint32),
        ("site", np.int32),
        ("position", np.int64),
        ("value", np.int64),
        ("limit", np.int64),
        ("blocks_before", np.uint64),
    ],
    align=True,
)

# The last statements of a kernel that checks: no thread of the block can record a fault any more.
END_OF_BLOCK: Final = ("__syncthreads();", "if (threadIdx.x == 0) end_block(faults);")
