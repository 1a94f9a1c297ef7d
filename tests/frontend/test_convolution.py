"""Convolutions and poolings of every rank, against eager."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from dlrmc.errors import UnsupportedOpsError
from tests.frontend.imported import Family, assert_equals_eager, run_family

torch.manual_seed(0)
LINE = torch.randn(2, 4, 9)
PLANE = torch.randn(2, 4, 6, 5)
BOX = torch.randn(1, 2, 3, 4, 3)
BIAS = torch.randn(6)
ARGS = (LINE, PLANE, BOX, BIAS)


def _weight(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


W3, W11 = _weight(6, 4, 3), _weight(6, 4, 1, 1)
W23, W65, W61 = _weight(6, 4, 2, 3), _weight(6, 4, 6, 5), _weight(6, 4, 6, 1)
W222, GROUPED, BY_CHANNEL = _weight(3, 2, 2, 2, 2), _weight(6, 2, 2, 2), _weight(8, 1, 3, 2)
WIDE = _weight(6, 4, 6, 4)

CASES: dict[str, Callable[..., Any]] = {
    "line": lambda line, plane, x, b: F.conv1d(line, W3, b),
    "line_padded_and_strided": lambda line, plane, x, b: F.conv1d(line, W3, b, stride=2, padding=2),
    "line_dilated": lambda line, plane, x, b: F.conv1d(line, W3, None, dilation=3),
    "line_same": lambda line, plane, x, b: F.conv1d(line, W3, b, padding="same"),
    "line_without_batch": lambda line, plane, x, b: F.conv1d(line[0], W3, b),
    "plane": lambda line, plane, x, b: F.conv2d(plane, W23, b),
    "plane_of_width_1": lambda line, plane, x, b: F.conv2d(plane, W11, b),
    "plane_padded_and_strided": lambda line, plane, x, b: F.conv2d(
        plane, W23, b, stride=(2, 1), padding=(1, 2)
    ),
    "whole_plane": lambda line, plane, x, b: F.conv2d(plane, W65, b),
    "whole_fields": lambda line, plane, x, b: F.conv2d(plane, W61, b, padding=(3, 0)),
    "whole_columns": lambda line, plane, x, b: F.conv2d(plane, W61, b),
    "many_positions": lambda line, plane, x, b: F.conv2d(plane, WIDE, b, padding=(2, 2)),
    "box": lambda line, plane, x, b: F.conv3d(x, W222, None, padding=1),
    "groups": lambda line, plane, x, b: F.conv2d(plane, GROUPED, b, groups=2),
    "one_group_a_channel": lambda line, plane, x, b: F.conv2d(
        plane, BY_CHANNEL[:4], None, groups=4, padding=1
    ),
    "one_group_a_channel_with_bias": lambda line, plane, x, b: F.conv2d(
        plane, BY_CHANNEL[:4], b[:4], groups=4
    ),
    "max_pool_of_line": lambda line, plane, x, b: F.max_pool1d(line, 3),
    "max_pool": lambda line, plane, x, b: F.max_pool2d(plane, 2),
    "max_pool_padded": lambda line, plane, x, b: F.max_pool2d(plane, 3, stride=2, padding=1),
    "max_pool_dilated": lambda line, plane, x, b: F.max_pool2d(plane, 2, stride=1, dilation=2),
    "average_pool": lambda line, plane, x, b: (
        F.avg_pool1d(line, 2),
        F.avg_pool2d(plane, (2, 1), padding=(1, 0)),
    ),
    "group_norm": lambda line, plane, x, b: F.group_norm(plane, 2, b[:4], b[1:5]),
}


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


def test_a_convolution_is_one_linear_layer_over_slices() -> None:
    run = run_family({"f": lambda x: F.conv1d(x, W3, BIAS)}, (LINE,))
    (layer,) = [node for node in run.imported.graph.nodes if node.is_op("linear")]
    assert [part.shape for part in layer.inputs[:3]] == [(2, 7, 4)] * 3


def test_dimensions_that_the_window_covers_are_channels() -> None:
    run = run_family({"f": lambda x: F.conv2d(x, W65)}, (PLANE,))
    (layer,) = [node for node in run.imported.graph.nodes if node.is_op("linear")]
    assert layer.inputs[0].shape == (2, 4 * 6 * 5)


def test_a_transposed_convolution_is_refused() -> None:
    with pytest.raises(UnsupportedOpsError, match="a transposed convolution"):
        run_family({"f": lambda x: F.conv_transpose1d(x, W3.transpose(0, 1).contiguous())}, (LINE,))


def test_positions_of_a_pooling_are_refused() -> None:
    with pytest.raises(UnsupportedOpsError, match="positions that max_pool gives"):
        run_family({"f": lambda x: F.max_pool2d(x, 2, return_indices=True)}, (PLANE,))
