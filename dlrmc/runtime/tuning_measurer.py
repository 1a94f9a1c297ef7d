"""Times candidates of the tuner on the GPU, by CUDA events around many launches in a CUDA graph."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from dlrmc.codegen.source import ModuleSource
from dlrmc.runtime import cupy_modules, nvrtc
from dlrmc.runtime.cuda_driver import CudaDriver
from dlrmc.runtime.cuda_executor import CudaExecutor
from dlrmc.runtime.cuda_program import CudaProgram, load_program
from dlrmc.runtime.faults import FaultLog
from dlrmc.runtime.kernel_graph import KernelLaunch
from dlrmc.runtime.module_cache import shared_cache
from dlrmc.runtime.shared_weights import SharedWeights
from dlrmc.runtime.targets import Target
from dlrmc.runtime.tensors import make_direct, to_numpy, to_torch
from dlrmc.runtime.tuner import Measurement
from dlrmc.runtime.tuning_problem import TuningProblem
from dlrmc.runtime.tuning_turn import tuning_turn
from dlrmc.runtime.weights import Residents
from dlrmc.schedule.plan import Plan

_ROUNDS = 9
# A replay takes about this long, so that two events around it do not count.
_REPLAY_US = 1000.0
_MOST_LAUNCHES = 100
_DRIVER_FILE = Path("/proc/driver/nvidia/version")


class CudaMeasurer:
    """Runs the kernels of one program on its GPU.

    Args:
        target: the GPU.
        weights: of the program. Those on the GPU are read in place, others moved once, for the search.
        cache_dir: of compiled modules.
    """

    def __init__(self, target: Target, weights: Mapping[str, torch.Tensor], cache_dir: Path) -> None:
        self._target = target
        self._weights = weights
        self._cache = shared_cache(cache_dir)
        self._shared = SharedWeights(target.device)
        self._residents: Residents | None = None
        self.machine: Sequence[str] = (
            torch.cuda.get_device_name(target.device),
            driver_version(),
            nvrtc.find_toolchain().name,
            target.architecture,
        )

    def measure(self, problem: TuningProblem, plan: Plan, module: ModuleSource) -> Measurement:
        """Compile, run and time the one kernel of a module; see `Measurer.measure`."""
        device = self._target.device
        with torch.cuda.device(device), torch.no_grad():
            inputs = [make_direct(to_torch(array).to(device)) for array in problem.inputs]
            # Kept until the next: derived values live as long as one of their users.
            self._residents = Residents(plan.residents, self._weights, device, self._shared)
            program = load_program(plan, module, self._residents, self._cache, self._target.architecture)
            executor = CudaExecutor(program, FaultLog("ignore", module.kernels[0].sites, {}))
            with tuning_turn():
                outputs = executor.run(inputs)
                faults = executor.fault_count()
                numbers = tuple(to_numpy(tensor).copy() for tensor in outputs)
                time_us = _time_us(program, executor, inputs, outputs)
        return Measurement(numbers, faults, time_us)


def _time_us(
    program: CudaProgram,
    executor: CudaExecutor,
    inputs: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
) -> float:
    """The median time of one launch among many, back to back."""
    driver = program.driver
    arena, table = program.new_arena(), program.new_table()
    table.write(program.cells(inputs, outputs), driver.current_stream(driver.index))
    launches = program.launches(arena, table, executor.faults.address)
    once_us = min(_replay_us(driver, launches, 3))
    count = max(2, min(_MOST_LAUNCHES, int(_REPLAY_US / max(once_us, 1.0))))
    return statistics.median(_replay_us(driver, list(launches) * count, _ROUNDS)) / count


def _replay_us(driver: CudaDriver, launches: Sequence[KernelLaunch], rounds: int) -> list[float]:
    graph = driver.make_graph(launches)
    driver.launch_graph(graph.handle, driver.current_stream(driver.index))  # uploads the graph
    times: list[float] = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        driver.launch_graph(graph.handle, driver.current_stream(driver.index))
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return times


def driver_version() -> str:
    """The driver's own version where the kernel module tells it, and that of the CUDA it serves."""
    cuda = str(cupy_modules.cuda().runtime.driverGetVersion())
    try:
        found = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", _DRIVER_FILE.read_text(encoding="utf-8"))
    except OSError:
        return cuda
    return f"{found.group(1)} {cuda}" if found else cuda
