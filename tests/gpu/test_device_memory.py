"""What a program keeps on the GPU, and what its calls leave there."""

import gc

import pytest
import torch

from dlrmc.runtime.cuda_executor import CudaExecutor
from dlrmc.runtime.module_cache import ModuleCache
from tests.gpu.lookup_requests import request, same
from tests.runtime.programs import (
    DENSE,
    IDS,
    TABLE,
    compile_lookup,
)

pytestmark = pytest.mark.gpu


def test_weights_on_the_gpu_are_shared_and_memory_is_torchs(cache_dir):
    import cupy

    table = TABLE.cuda()
    before = cupy.get_default_memory_pool().used_bytes()
    lookup = compile_lookup(cache_dir, target="cuda", table=table)
    executor = lookup._executor
    assert isinstance(executor, CudaExecutor)
    assert [t.data_ptr() for t in executor._program.residents.tensors] == [table.data_ptr()]
    assert cupy.get_default_memory_pool().used_bytes() == before
    table[9] = -1.0  # shared, so an in-place write is seen
    assert torch.equal(lookup(DENSE.cuda(), IDS.cuda())[1][0].cpu(), torch.full((3,), -1.0))


def test_calls_leave_no_memory_behind(lookup):
    dense, ids = request(0)
    lookup(dense, ids)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(200):
        lookup(dense, ids)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before


def test_what_the_graph_points_at_stays_alive(cache_dir):
    lookup = compile_lookup(cache_dir, target="cuda", table=TABLE.cuda())  # nobody else holds the table
    gc.collect()
    torch.cuda.empty_cache()
    garbage = [torch.full((4096,), 7e7, device="cuda") for _ in range(64)]
    assert same(lookup(DENSE.cuda(), IDS.cuda()), DENSE, IDS)
    assert len(garbage) == 64


def test_the_second_program_of_a_source_is_not_compiled(cache_dir):
    compile_lookup(cache_dir, target="cuda")
    first = compile_lookup(cache_dir, target="cuda")
    compiles = first.stats()["compiles"]
    compile_lookup(cache_dir, target="cuda")
    assert first.stats()["compiles"] == compiles


def gpu():
    return torch.device("cuda", torch.cuda.current_device())


def architecture():
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def test_a_cache_without_a_directory_loads_too():
    from dlrmc.runtime.cuda_driver import CudaDriver
    from dlrmc.runtime.cuda_module import load_kernels, service_source
    from dlrmc.runtime.pointer_table import PointerTable

    entry = ModuleCache(None).get(service_source(), architecture())
    kernels = load_kernels(entry, [kernel.name for kernel in entry.cubin.kernels])
    for count in (1, 32, 100, 400, 450):
        table = PointerTable(count, gpu(), kernels.handles, CudaDriver(gpu()).launch_kernel)
        table.write([n + 2**40 for n in range(count)], stream=0)
        torch.cuda.synchronize()
        assert table._memory.tolist() == [n + 2**40 for n in range(count)]


def test_more_than_48_kib_of_dynamic_shared_memory():
    from dlrmc.runtime.cuda_driver import CudaDriver
    from dlrmc.runtime.cuda_module import allow_shared_memory, load_kernels
    from dlrmc.runtime.kernel_arguments import KernelArguments

    source = """
extern "C" __global__ void big(float* x) {
  extern __shared__ __align__(16) unsigned char dlrmc_shared[];
  float* tile = (float*)dlrmc_shared;
  for (int i = threadIdx.x; i < 24576; i += blockDim.x) tile[i] = (float)i;
  __syncthreads();
  x[threadIdx.x] = tile[24575 - threadIdx.x];
}
"""
    kernels = load_kernels(ModuleCache(None).get(source, architecture()), ["big"])
    shared_bytes = 24576 * 4
    allow_shared_memory(kernels, {"big": shared_bytes})
    x = torch.zeros(32, device="cuda")
    torch.cuda.synchronize()
    arguments = KernelArguments.of_pointers([x.data_ptr()])
    CudaDriver(gpu()).launch_kernel(
        kernels.handles["big"], 1, 1, 1, 32, 1, 1, shared_bytes, 0, arguments.address, 0
    )
    torch.cuda.synchronize()
    assert x.tolist() == [24575.0 - i for i in range(32)]
