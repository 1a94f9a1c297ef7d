"""What all executors of one compiled program share: code and weights on one GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from dlrmc.codegen.source import ModuleSource
from dlrmc.runtime.addresses import AddressMap, Bases
from dlrmc.runtime.counted_inputs import CountedInputs
from dlrmc.runtime.cuda_driver import CudaDriver
from dlrmc.runtime.cuda_module import (
    SERVICE_KERNELS,
    LoadedKernels,
    allow_shared_memory,
    kernel_launches,
    load_kernels,
    service_source,
)
from dlrmc.runtime.kernel_graph import KernelLaunch
from dlrmc.runtime.module_cache import ModuleCache
from dlrmc.runtime.pointer_table import PointerTable
from dlrmc.runtime.torch_internals import addresses_of
from dlrmc.runtime.weights import Residents
from dlrmc.schedule.plan import Plan


@dataclass(frozen=True)
class CudaProgram:
    """Code and weights of a program on one GPU.

    Args:
        driver: of the GPU.
        plan: what runs on which buffers.
        addresses: the arguments of every launch.
        kernels: the emitted kernels.
        service: the runtime's own.
        residents: weights, constants and derived values.
        cache_dir: of what is compiled for the host; None where nothing is.
    """

    driver: CudaDriver
    plan: Plan
    addresses: AddressMap
    kernels: LoadedKernels
    service: LoadedKernels
    residents: Residents
    cache_dir: Path | None = None

    @property
    def device(self) -> torch.device:
        """The GPU."""
        return self.driver.device

    def new_arena(self) -> torch.Tensor:
        """Memory for the intermediates of one call at a time."""
        return torch.empty(max(self.plan.arena_bytes, 1), dtype=torch.uint8, device=self.device)

    def new_table(self) -> PointerTable:
        """A pointer table of this program's cells, not yet written."""
        cells = len(self.addresses.cells)
        return PointerTable(cells, self.device, self.service.handles, self.driver.launch_kernel)

    def cells(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> Sequence[int]:
        """The content of a table for a call on these tensors."""
        counts = CountedInputs(self.plan.counted).counts(inputs)
        return self.addresses.cell_pointers(addresses_of(inputs), addresses_of(outputs), counts)

    def launches(self, arena: torch.Tensor, table: PointerTable, faults: int) -> list[KernelLaunch]:
        """The launches of one instance.

        Args:
            arena: of the instance.
            table: likewise.
            faults: address of its fault records.
        """
        residents = tuple(tensor.data_ptr() for tensor in self.residents.tensors)
        bases = Bases(residents, arena.data_ptr(), table.address, faults)
        return kernel_launches(self.kernels, self.addresses.bind(bases))


def load_program(
    plan: Plan, module: ModuleSource, residents: Residents, cache: ModuleCache, arch: str
) -> CudaProgram:
    """Compile or find the module and load it on the GPU of the residents.

    Raises:
        CompileError: NVRTC is missing or refuses the source.
        CodegenError: plan and module do not fit each other.
    """
    addresses = AddressMap(plan, module)
    with torch.cuda.device(residents.device):
        torch.cuda.current_stream().synchronize()  # makes torch's context, and the uploads are complete
        kernels = load_kernels(cache.get(module.text, arch), [k.name for k in module.kernels])
        allow_shared_memory(kernels, {k.name: k.shared_bytes for k in module.kernels})
        service = load_kernels(cache.get(service_source(), arch), SERVICE_KERNELS)
    driver = CudaDriver(residents.device)
    return CudaProgram(driver, plan, addresses, kernels, service, residents, cache.directory)
