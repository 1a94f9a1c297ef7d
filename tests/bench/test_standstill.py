from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from dlrmc.bench.standstill import wait_for_standstill

# A process with threads that compute, and a child of its own, in one group.
BUSY = """
import subprocess, sys, threading
def work():
    while True: sum(range(1000))
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
for _ in range(3): threading.Thread(target=work, daemon=True).start()
print("busy", flush=True)
work()
"""


@pytest.fixture
def group() -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, start_new_session=True, text=True
    )
    assert process.stdout is not None
    with process, process.stdout:
        process.stdout.readline()
        yield process.pid
        os.killpg(process.pid, signal.SIGKILL)


def test_a_group_stands_still_when_all_its_threads_do(group: int) -> None:
    assert not wait_for_standstill({group}, limit_s=0.05)
    os.killpg(group, signal.SIGSTOP)
    assert wait_for_standstill({group}, limit_s=30)
    os.killpg(group, signal.SIGCONT)
    assert not wait_for_standstill({group}, limit_s=0.05)


def test_one_process_of_the_group_that_runs_is_enough(group: int) -> None:
    os.kill(group, signal.SIGSTOP)  # its child goes on
    assert not wait_for_standstill({group}, limit_s=0.3)


def test_a_group_that_has_ended_stands_still() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    done.wait()
    assert wait_for_standstill({done.pid})
