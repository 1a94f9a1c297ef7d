import subprocess
import sys

import pytest

from dlrmc.cli import checks
from dlrmc.errors import CompileError
from dlrmc.runtime import nvrtc

SOURCE = """
extern "C" __global__ void __launch_bounds__(64) dlrmc_reverse(float* x, const float* const* y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[63 - threadIdx.x] * 3.0f + (*y)[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(32) dlrmc_copy(float* x, const float* y) {
  x[threadIdx.x] = y[threadIdx.x];
}
"""

# 1024 threads with two blocks on an SM leave 32 registers a thread, and 100 doubles live across the loop.
SPILLING = """
extern "C" __global__ void __launch_bounds__(1024, 2) dlrmc_spill(double* x, const int* n) {
  double s[100];
  for (int i = 0; i < 100; i++) s[i] = x[i];
  for (int i = 0; i < *n; i++) {
    double first = s[0];
#pragma unroll
    for (int j = 0; j < 99; j++) s[j] = s[j + 1] * s[j] + first;
    s[99] = first;
  }
  for (int i = 0; i < 100; i++) x[i] = s[i];
}
"""

BAD = """__device__ int good = 1;

__device__ int bad = undeclared;
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_90a", "sm_100"])
def test_compiles_without_a_gpu_for_a_named_architecture(arch):
    cubin = nvrtc.compile_source(SOURCE, arch)
    assert cubin.data.startswith(b"\x7fELF")
    assert (cubin.arch, cubin.compiler) == (arch, nvrtc.find_toolchain().name)
    copy, reverse = cubin.kernels
    assert (copy.name, copy.shared_bytes) == ("dlrmc_copy", 0)
    assert (reverse.name, reverse.shared_bytes) == ("dlrmc_reverse", 256)
    for kernel in cubin.kernels:
        assert 4 <= kernel.registers <= 32
        assert not kernel.spills
        assert kernel.stack_bytes == 0
        assert kernel.constant_bytes >= 16  # two pointers


def test_spills_are_reported():
    (kernel,) = nvrtc.compile_source(SPILLING, "sm_90").kernels
    assert kernel.registers == 32
    assert kernel.spills
    assert kernel.spill_store_bytes > 0
    assert kernel.stack_bytes > 0


def test_architectures_give_different_code():
    assert nvrtc.compile_source(SOURCE, "sm_80").data != nvrtc.compile_source(SOURCE, "sm_90").data


@pytest.mark.parametrize("arch", ["sm_999", "sm_30", "compute_90", "90", "sm_90x"])
def test_an_unknown_architecture_is_one_clear_error(arch):
    with pytest.raises(CompileError) as caught:
        nvrtc.compile_source(SOURCE, arch)
    message = str(caught.value)
    assert repr(arch) in message
    assert "sm_80" in message
    assert "sm_90" in message
    assert nvrtc.find_toolchain().name in message
    assert "pip install" in message
    assert "INVALID_OPTION" not in message


def test_a_compile_error_shows_the_log_and_the_source_line():
    with pytest.raises(CompileError) as caught:
        nvrtc.compile_source(BAD, "sm_90")
    message = str(caught.value)
    assert 'identifier "undeclared" is undefined' in message
    assert ">     3  __device__ int bad = undeclared;" in message
    assert "      1  __device__ int good = 1;" in message


def test_no_header_is_on_the_path():
    with pytest.raises(CompileError, match=r'could not open source file "cuda_fp16.h"'):
        nvrtc.compile_source("#include <cuda_fp16.h>\n", "sm_90")


def _ptx(flags):
    binding = nvrtc._binding()
    source = 'extern "C" __global__ void f(float* x) { x[0] = x[0] / x[1]; x[2] = sqrtf(x[3]) * x[4]; }'
    program = binding.createProgram(source, "f.cu", (), ())
    try:
        binding.compileProgram(program, flags)
        return binding.getPTX(program).decode()
    finally:
        binding.destroyProgram(program)


def test_subnormals_are_kept_and_division_is_exact():
    ptx = _ptx(nvrtc.command_line("sm_90"))
    for instruction in ("div.rn.f32", "sqrt.rn.f32", "mul.f32"):
        assert instruction in ptx
    assert "ftz" not in ptx
    assert "ftz" in _ptx((*nvrtc.command_line("sm_90"), "-ftz=true"))  # what cupy appends would win


def test_without_cupy_the_error_says_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['cupy'] = None\n"
        "from dlrmc.errors import CompileError\n"
        "from dlrmc.runtime import nvrtc\n"
        "try:\n"
        "    nvrtc.find_toolchain()\n"
        "except CompileError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # By their own names: dlrmc itself may be installed from a checkout.
    assert checks._CUDA13_COMMAND in run.stdout
    assert checks._CUDA12_COMMAND in run.stdout
    assert "cupy cannot be imported" in run.stdout


def test_a_library_that_cannot_be_loaded_says_what_to_install(monkeypatch):
    class Unloadable:
        @staticmethod
        def getVersion():
            raise RuntimeError("CuPy failed to load libnvrtc.so.13\nand a second line")

    monkeypatch.setattr(nvrtc, "_binding", lambda: Unloadable)
    with pytest.raises(CompileError) as caught:
        nvrtc.find_toolchain()
    assert "CuPy failed to load libnvrtc.so.13" in str(caught.value)
    assert "pip install" in str(caught.value)
    assert "second line" not in str(caught.value)
