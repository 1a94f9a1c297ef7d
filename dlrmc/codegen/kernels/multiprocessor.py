"""What a multiprocessor does in a cycle, for the estimates of kernels' times.

Per multiprocessor and cycle, and latencies in cycles, of Hopper (CUDA C++ Programming Guide, "Arithmetic
Instructions", and docs/performance.md).
"""

from __future__ import annotations

from dlrmc.schedule.limits import DeviceLimits

SCHEDULERS = 4
L2_BYTES_PER_CYCLE = 24
LINE_BYTES = 128
L2_LATENCY = 700
BLOCK_START = 600
BARRIER = 40
SHUFFLE_STEP = 30
_RESIDENT_THREADS = 2048
_RESIDENT_REGISTERS = 65536
_RESIDENT_BLOCKS = 32


def resident_blocks(threads: int, shared_bytes: int, registers: int, limits: DeviceLimits) -> int:
    """How many blocks of a kernel a multiprocessor holds; `registers` are those of a thread."""
    by_shared = limits.shared_bytes_per_block // max(shared_bytes, 1024)
    by_registers = _RESIDENT_REGISTERS // (threads * registers)
    return max(1, min(_RESIDENT_THREADS // threads, by_shared, by_registers, _RESIDENT_BLOCKS))


def busy_cycles(issued: float, wavefronts: float) -> float:
    """Cycles of a multiprocessor for instructions of its warps and wavefronts of shared memory and L1.

    The two overlap in part: fitted to measurements on an H200.
    """
    return issued / SCHEDULERS + wavefronts / 2
