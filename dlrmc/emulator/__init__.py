"""Runs emitted CUDA source on a CPU: see docs/emulator.md."""

from dlrmc.emulator.faults import EmulationError, SanitizerError, ThreadOrderError
from dlrmc.emulator.launch import Argument, KernelLaunch, run_launches
from dlrmc.emulator.module import EmulatedModule
from dlrmc.emulator.orders import run_all_orders

__all__ = [
    "Argument",
    "EmulatedModule",
    "EmulationError",
    "KernelLaunch",
    "SanitizerError",
    "ThreadOrderError",
    "run_all_orders",
    "run_launches",
]
