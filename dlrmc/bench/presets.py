"""Sizes of well-known recommenders, as their public benchmark scripts give them, and the seed sweep's.

The number of rows is one for all tables and chosen by the caller: the real ones reach 40 million.
Source: facebookresearch/dlrm `bench/dlrm_s_criteo_kaggle.sh` and `dlrm_s_criteo_terabyte.sh`; MLPerf
training, `recommendation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dlrmc.bench.workload import Cell

_LARGE_ROWS = 100_000

PRESETS: Final[Mapping[str, Cell]] = MappingProxyType(
    {
        "seed": Cell(num_cat=32, batch=2048),
        "kaggle": Cell(
            26, 2048, dim=16, bag=1, rows=_LARGE_ROWS, dense=13, bottom=(512, 256, 64), top=(512, 256, 1)
        ),
        "terabyte": Cell(
            26, 2048, dim=64, bag=1, rows=_LARGE_ROWS, dense=13, bottom=(512, 256), top=(512, 512, 256, 1)
        ),
        "mlperf": Cell(
            26,
            2048,
            dim=128,
            bag=1,
            rows=_LARGE_ROWS,
            dense=13,
            bottom=(512, 256),
            top=(1024, 1024, 512, 256, 1),
        ),
    }
)
SEED_TABLES: Final = (2, 4, 8, 16, 32)
SEED_BATCHES: Final = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
PRESET_BATCHES: Final = (128, 2048)
