"""The kernels of these tests are CUDA: NVRTC takes the same text, with instructions for the emulator."""

from __future__ import annotations

import pytest

from dlrmc.emulator.build import HEADERS
from dlrmc.runtime.nvrtc import compile_source
from tests.emulator.kernel_files import PTX, file_names, kernel_file

# What the first architecture with an instruction is, where that is not sm_80.
NEWER = {"bulk_copies": "sm_90"}


@pytest.mark.parametrize("name", file_names())
def test_nvrtc_takes_the_same_text(name: str) -> None:
    file = kernel_file(name)
    cubin = compile_source(file.text, NEWER.get(name, "sm_80"))
    assert {kernel.name for kernel in cubin.kernels} == {kernel for kernel, _ in file.kernels}


@pytest.mark.parametrize("architecture", ["sm_90", "sm_100"])
@pytest.mark.parametrize("name", ["async_copies", "bulk_copies", "tensor_cores", "numbers", "barriers"])
def test_the_instructions_exist_on_newer_architectures(name: str, architecture: str) -> None:
    assert compile_source(kernel_file(name).text, architecture).data


def test_both_sides_have_the_same_names() -> None:
    """What one side of ptx.cuh offers, the other offers; `shared_address` serves the GPU side alone."""
    emulated, _, gpu = PTX.read_text().partition("\n#else\n")
    used = {line.split("::")[1].rstrip(";") for line in emulated.splitlines() if line.startswith("using ")}
    defined = {
        line.partition("(")[0].split()[-1]
        for line in gpu.splitlines()
        if line.startswith("__device__ __forceinline__")
    }
    assert used == defined - {"shared_address"}
    assert (HEADERS / "emulator.h").exists()
