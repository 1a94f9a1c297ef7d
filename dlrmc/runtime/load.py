"""From a build to an executor of its target."""

from __future__ import annotations

import torch

from dlrmc.frontend.program import TensorInput
from dlrmc.runtime.build import Build
from dlrmc.runtime.executor import Executor
from dlrmc.runtime.faults import FaultLog
from dlrmc.runtime.module_cache import ModuleCache
from dlrmc.runtime.shared_weights import SharedWeights
from dlrmc.runtime.weights import Residents


def fault_log(build: Build) -> FaultLog:
    """The log of one program: fault sites by number, user's paths by the name of the graph's input."""
    inputs = build.plan.inputs
    paths = {inputs[i.index].name: i.path for i in build.program.inputs if isinstance(i, TensorInput)}
    sites = [site for kernel in build.module.kernels for site in kernel.sites]
    return FaultLog(build.options.bounds, sites, paths)


def make_executor(
    build: Build, cache: ModuleCache, log: FaultLog, shared: SharedWeights | None = None
) -> Executor:
    """The executor of the build's target, over the weights of other builds of the program where given.

    Raises:
        CompileError: the compiler of the target is missing or refuses the source.
        InputError: a weight is missing.
    """
    weights, target = build.program.weights, build.target
    if target.name == "reference":
        from dlrmc.runtime.reference_executor import ReferenceExecutor

        return ReferenceExecutor(build.graph, weights, shared)
    if target.name == "emulate":
        from dlrmc.emulator.module import EmulatedModule
        from dlrmc.runtime.emulated_executor import EmulatedExecutor

        kernels = [(kernel.name, len(kernel.params)) for kernel in build.module.kernels]
        folder = build.options.cache_dir
        emulated = EmulatedModule.build(build.module.text, kernels, cache_dir=folder) if kernels else None
        residents = Residents(build.plan.residents, weights, target.device, shared)
        return EmulatedExecutor(build.plan, build.module, emulated, residents, log)
    from dlrmc.runtime.cuda_executor import CudaExecutor
    from dlrmc.runtime.cuda_program import load_program

    with torch.cuda.device(target.device):
        residents = Residents(build.plan.residents, weights, target.device, shared)
    return CudaExecutor(load_program(build.plan, build.module, residents, cache, target.architecture), log)
