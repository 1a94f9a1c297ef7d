from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from dlrmc.schedule.limits import DeviceLimits


def test_the_defaults_are_those_of_compute_capability_9():
    limits = DeviceLimits()
    assert limits.architecture == 90
    assert limits.shared_bytes_per_block == 227 * 1024
    assert limits.threads_per_block == 1024


def test_limits_are_a_value():
    assert DeviceLimits(multiprocessors=4) == DeviceLimits(multiprocessors=4)
    assert hash(DeviceLimits(multiprocessors=4)) != hash(DeviceLimits())
    with pytest.raises(FrozenInstanceError):
        DeviceLimits().multiprocessors = 4  # pyright: ignore[reportAttributeAccessIssue]
