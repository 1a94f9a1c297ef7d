"""Whether the memory of a process stays flat over many calls.

Four readings, in MB:

- live: what tensors hold, by torch's allocator. Where nothing of a call is left at a reading it stays the
  same to the byte.
- reserved: the segments that torch's allocator took from the driver. It keeps them, and takes another where
  more results wait on one stream than ever before, which with random calls may come late.
- gpu: all that the driver says is in use. It counts other processes on the GPU as well, and says nothing of
  this one where there are any.
- rss: the resident set of the process. The driver, torch and the C library grow at the first use of a kernel,
  a stream or a size.

It is flat where the last third of the readings needs no more than the third before, beyond a slack for each
kind; the first third is for what grows at first use.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import torch

MB = 2**20
# Growth that is no leak, MB. A small tensor left behind by each of 33,000 calls makes 16 MB of live.
SLACK_MB = MappingProxyType(
    {
        "live": 0.001,
        "reserved": 20.0,  # one large segment
        "gpu": 22.0,  # the same, and what the driver rounds up
        "rss": 16.0,  # the C library's arenas
    }
)


@dataclass(frozen=True)
class Memory:
    """MB held: by tensors on the device, in segments of torch's allocator, by all on the GPU, on the host."""

    live: float
    reserved: float
    gpu: float
    rss: float


def read_memory(device: str) -> Memory:
    """What is held now, after all work is done."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    rss = pages * resource.getpagesize() / MB
    if device != "cuda":
        return Memory(0.0, 0.0, 0.0, rss)
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    live, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    return Memory(live / MB, reserved / MB, (total - free) / MB, rss)


def growth(readings: Sequence[Memory]) -> dict[str, float]:
    """MB that the last third needs at most more than the third before, by kind."""
    third = max(len(readings) // 3, 1)
    early, late = readings[-2 * third : -third] or readings[:1], readings[-third:]
    return {
        kind: max(getattr(each, kind) for each in late) - max(getattr(each, kind) for each in early)
        for kind in SLACK_MB
    }


def leaks(readings: Sequence[Memory], *, shares_gpu: bool = False) -> list[str]:
    """The kinds of memory that grew by more than what is no leak.

    Args:
        readings: at equal steps.
        shares_gpu: whether other processes use the GPU, whose memory then says nothing of this one.
    """
    judged = [kind for kind in SLACK_MB if not (shares_gpu and kind == "gpu")]
    grown = growth(readings)
    return [kind for kind in judged if grown[kind] > SLACK_MB[kind]]
