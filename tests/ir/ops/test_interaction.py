"""The order of the pairs, which passes compare a user's index tables with."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.ir.ops.interaction import pair_indices


@pytest.mark.parametrize(
    ("pairs", "wanted"),
    [
        ("strict_lower", [(1, 0), (2, 0), (2, 1)]),
        ("lower", [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]),
        ("strict_upper", [(0, 1), (0, 2), (1, 2)]),
        ("upper", [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]),
    ],
)
def test_pairs_go_row_by_row(pairs, wanted):
    i, j = pair_indices(pairs, 3)
    assert i.dtype == j.dtype == np.int64
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("features", [0, 1])
def test_one_feature_has_no_strict_pair(features):
    assert len(pair_indices("strict_lower", features)[0]) == 0
    assert len(pair_indices("upper", features)[0]) == features
