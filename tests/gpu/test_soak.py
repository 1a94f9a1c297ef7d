"""A short form of benchmarks/soak.py."""

import pytest

from benchmarks.memory import growth, leaks
from benchmarks.soak import soak

pytestmark = pytest.mark.gpu


def test_every_answer_is_right_and_memory_flat(tmp_path):
    readings = list(soak(4000, cache_dir=tmp_path))
    assert [wrong for _made, wrong, _time, _memory in readings] == [0] * len(readings)
    memory = [memory for *_, memory in readings]
    assert not leaks(memory, shares_gpu=True), growth(memory)  # tests may run beside others
