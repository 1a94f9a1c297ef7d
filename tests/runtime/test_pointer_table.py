import ctypes

import pytest
import torch

from dlrmc.options import Options
from dlrmc.runtime import nvrtc
from dlrmc.runtime.addresses import BoundLaunch
from dlrmc.runtime.cuda_module import (
    SERVICE_KERNELS,
    LoadedKernels,
    kernel_launches,
    launch_all,
    service_source,
)
from dlrmc.runtime.pointer_table import CHUNKS, PointerTable
from tests.runtime.programs import LOOKUP, make_build, make_program


class Recorder:
    """Stands where the driver does and keeps what it was asked to launch, and the arguments' bytes."""

    def __init__(self):
        self.calls = []

    def __call__(self, function, *launch):
        *sizes, stream, arguments, extra = launch
        assert extra == 0
        self.calls.append((function, tuple(sizes), stream, arguments))


def argument(arguments, number, kind=ctypes.c_uint64):
    return kind.from_address(ctypes.c_uint64.from_address(arguments + 8 * number).value)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 128, 129, 400, 401, 1000])
def test_the_cells_are_written_in_order_by_few_kernels(count):
    launch = Recorder()
    functions = dict(zip(SERVICE_KERNELS, CHUNKS, strict=True))
    table = PointerTable(count, torch.device("cpu"), functions, launch)
    pointers = [7 * n + 2**63 for n in range(count)]
    table.write([0] * count, stream=4)
    launch.calls.clear()
    table.write(pointers, stream=5)
    found = []
    for function, sizes, stream, arguments in launch.calls:
        assert stream == 5
        assert sizes == (1, 1, 1, 128, 1, 1, 0)
        assert argument(arguments, 0).value == table.address
        number = argument(arguments, 3, ctypes.c_int32).value
        assert argument(arguments, 2, ctypes.c_int32).value == len(found)
        assert number <= function
        found.extend(argument(arguments, 1, ctypes.c_uint64 * number))
    assert found == pointers
    assert len(launch.calls) == -(-count // CHUNKS[-1])
    # With the table, the first cell and the count below the 4 KiB of parameters that every GPU takes.
    assert 8 * CHUNKS[-1] + 16 <= 4096


def test_no_pointers_no_launch():
    launch = Recorder()
    functions = dict(zip(SERVICE_KERNELS, CHUNKS, strict=True))
    PointerTable(0, torch.device("cpu"), functions, launch).write([], stream=0)
    assert launch.calls == []


def test_every_argument_of_an_emitted_kernel_is_a_pointer_of_said_width(cache_dir):
    # A Python number would be passed as cupy guesses: a float as a double, which a kernel reads as 0.0f.
    program = make_program(LOOKUP, {}, ("dense", "ids"), {}, (0, 1))
    build = make_build(program, Options(target="reference", cache_dir=cache_dir))
    launches = [
        BoundLaunch(kernel, tuple(2**63 + n for n in range(len(kernel.params))))
        for kernel in build.module.kernels
    ]
    handles = {launch.kernel.name: number for number, launch in enumerate(launches)}
    seen = []

    def launch_kernel(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, arguments, extra):
        kernel = launches[function].kernel
        # cupy would raise a zero grid to one block without a word.
        assert (gx, gy, gz, bx, by, bz) == (kernel.grid, 1, 1, kernel.block, 1, 1)
        assert min(gx, bx) >= 1
        assert (shared_bytes, stream, extra) == (kernel.shared_bytes, 5, 0)
        seen.append(tuple(argument(arguments, n).value for n in range(len(kernel.params))))

    launch_all(kernel_launches(LoadedKernels(handles, ()), launches), 5, launch_kernel)
    assert seen == [launch.pointers for launch in launches]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_the_runtimes_own_kernels_build_and_keep_their_parameter_in_place(arch):
    kernels = nvrtc.compile_source(service_source(), arch).kernels
    assert sorted(kernel.name for kernel in kernels) == sorted(SERVICE_KERNELS)
    assert [kernel.stack_bytes for kernel in kernels] == [0, 0, 0]  # no local copy of the pointers
