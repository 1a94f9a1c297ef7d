import numpy as np
import pytest

from dlrmc.runtime import nvrtc
from dlrmc.runtime.addresses import BoundLaunch
from dlrmc.runtime.cuda_module import SERVICE_KERNELS, launch_all, launch_arguments, service_source
from dlrmc.runtime.pointer_table import LARGE_CHUNK, SMALL_CHUNK, PointerTable, chunks
from tests.runtime.programs import LOOKUP, make_build, make_program


@pytest.mark.parametrize("count", [1, 31, 32, 33, 400, 401, 1000])
def test_chunks_hold_all_pointers_in_order(count):
    pointers = [7 * n + 2**40 for n in range(count)]
    found = []
    for first, chunk in chunks(pointers):
        assert first == len(found)
        # cupy passes an array of one element by value, and refuses any other.
        assert chunk.size == 1
        size = SMALL_CHUNK if count <= SMALL_CHUNK else LARGE_CHUNK
        assert chunk.nbytes == 8 * size <= 4096 - 24
        found.extend(chunk["at"][0].tolist())
    assert found[:count] == pointers
    assert not any(found[count:])


def test_no_pointers_no_launch():
    assert list(chunks([])) == []


class Recorder:
    """Stands where a kernel does and keeps how it was launched."""

    def __init__(self):
        self.calls = []

    def __call__(self, grid, block, arguments, shared_bytes, stream):
        self.calls.append((grid, block, arguments, shared_bytes, stream))


def test_the_table_is_written_with_explicit_widths():
    import torch

    functions = {name: Recorder() for name in SERVICE_KERNELS}
    table = PointerTable(450, torch.device("cpu"), functions)
    table.write(list(range(450)), stream="s")
    assert functions["dlrmc_write_pointers_32"].calls == []
    first, second = functions["dlrmc_write_pointers_400"].calls
    for (grid, block, arguments, shared_bytes, stream), (start, count) in zip(
        (first, second), ((0, 400), (400, 50)), strict=True
    ):
        assert (grid, block, shared_bytes, stream) == ((1,), (128,), 0, "s")
        assert [type(a) for a in arguments] == [np.uint64, np.ndarray, np.int32, np.int32]
        assert (int(arguments[0]), int(arguments[2]), int(arguments[3])) == (table.address, start, count)


def test_every_argument_of_an_emitted_kernel_is_a_pointer_of_said_width(cache_dir):
    # A Python number would be passed as cupy guesses: a float as a double, which a kernel reads as 0.0f.
    from dlrmc.options import Options

    program = make_program(LOOKUP, {}, ("dense", "ids"), {}, (0, 1))
    build = make_build(program, Options(target="reference", cache_dir=cache_dir))
    functions = {kernel.name: Recorder() for kernel in build.module.kernels}
    launches = [BoundLaunch(kernel, (1,) * len(kernel.params)) for kernel in build.module.kernels]
    launch_all(functions, launches, stream="s")
    for launch in launches:
        ((grid, block, arguments, shared_bytes, _),) = functions[launch.kernel.name].calls
        assert {type(argument) for argument in arguments} == {np.uint64}
        assert len(arguments) == len(launch.kernel.params)
        # cupy would raise a zero grid to one block without a word.
        assert grid[0] == launch.kernel.grid >= 1
        assert block[0] == launch.kernel.block >= 1
        assert shared_bytes == launch.kernel.shared_bytes


def test_a_pointer_keeps_its_64_bits():
    kernel = None
    (argument,) = launch_arguments(BoundLaunch(kernel, (2**63 + 5,)))
    assert argument.tobytes() == (2**63 + 5).to_bytes(8, "little")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_the_runtimes_own_kernels_build_and_keep_their_parameter_in_place(arch):
    kernels = nvrtc.compile_source(service_source(), arch).kernels
    assert sorted(kernel.name for kernel in kernels) == sorted(SERVICE_KERNELS)
    assert [kernel.stack_bytes for kernel in kernels] == [0, 0, 0]  # no local copy of the pointers
