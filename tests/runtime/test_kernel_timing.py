"""Kernels alone, with the emulator in the GPU's place."""

import pytest
import torch

from dlrmc.errors import InputError
from dlrmc.options import Options
from dlrmc.runtime.kernel_timing import repeated_kernels
from tests.runtime.fake_cuda import compile_on_fake_cuda
from tests.runtime.programs import make_build, make_program

# A product that mixes rows stands between the two others, so that there are three kernels.
TEXT = """graph @three {
  input %x : f32[4,4]
  weight %w : f32[4,4] = "w"
  %a = relu(%x) : f32[4,4]
  %b = mm(%w, %a) : f32[4,4]
  %c = neg(%b) : f32[4,4]
  return %c
}
"""
X = torch.arange(16, dtype=torch.float32).reshape(4, 4) - 6
W = torch.arange(16, dtype=torch.float32).reshape(4, 4) / 8


@pytest.fixture
def three(cache_dir):
    program = make_program(TEXT, {"w": W}, ("x",), {}, 0)
    return compile_on_fake_cuda(make_build(program, Options(target="emulate", cache_dir=cache_dir)))


def expected(x):
    return -(W @ x.relu())


def test_one_for_each_kernel_in_order(three):
    compiled, _ = three
    kernels = repeated_kernels(compiled, (X,), {}, 2)
    source = compiled._build.module.kernels
    assert len(kernels) > 1
    assert [(k.name, k.grid, k.block) for k in kernels] == [(k.name, k.grid, k.block) for k in source]
    assert [k.node for k in kernels] == [launch.kernel for launch in compiled._build.plan.launches]


def test_a_whole_request_has_run_before(three):
    kernels = repeated_kernels(three[0], (X,), {}, 2)
    torch.testing.assert_close(kernels[-1].outputs[0], expected(X))


def test_a_replay_launches_one_kernel_so_many_times(three):
    compiled, driver = three
    for number, kernel in enumerate(repeated_kernels(compiled, (X,), {}, 5)):
        driver.events.clear()
        kernel.replay()
        assert driver.events == [("graph", 0)]
        launched = driver.graphs[len(driver.graphs) - len(compiled._build.plan.launches) + number + 1]
        assert [driver.module.kernel_names[each.function - 100] for each in launched] == [kernel.name] * 5


def test_replays_read_the_inputs_and_write_the_outputs_of_the_request(three):
    x = X.clone()
    kernels = repeated_kernels(three[0], (x,), {}, 1)
    x.add_(3)
    for kernel in kernels:
        kernel.outputs[0].fill_(float("nan"))
        kernel.replay()
    torch.testing.assert_close(kernels[-1].outputs[0], expected(x))


def test_the_programs_own_calls_go_on_undisturbed(three):
    compiled, _ = three
    kernels = repeated_kernels(compiled, (X,), {}, 3)
    found = compiled(X + 1)
    for kernel in kernels:
        kernel.replay()
    torch.testing.assert_close(found, expected(X + 1))
    torch.testing.assert_close(compiled(X + 2), expected(X + 2))


def test_arguments_are_checked(three):
    with pytest.raises(InputError, match="x"):
        repeated_kernels(three[0], (X[:2],), {}, 1)
