"""The GPU's measurer with the emulator behind CUDA: what it runs, on what, and that it lets go of it."""

import gc
import weakref
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dlrmc.codegen.emit import emit_module
from dlrmc.emulator.module import EmulatedModule
from dlrmc.ir.parser import parse_graph
from dlrmc.runtime import tuning_measurer
from dlrmc.runtime.addresses import AddressMap
from dlrmc.runtime.cuda_module import SERVICE_KERNELS, LoadedKernels
from dlrmc.runtime.cuda_program import CudaProgram
from dlrmc.runtime.targets import Target
from dlrmc.runtime.tuning_measurer import CudaMeasurer
from dlrmc.runtime.tuning_problem import make_problem
from dlrmc.runtime.tuning_turn import tuning_within
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.limits import DeviceLimits
from tests.runtime.fake_cuda import CPU, FIRST_EMITTED, FakeDriver

TEXT = """graph @small {
  input %ids : i64[5,2]
  weight %table : f32[10,4] = "table"
  %y = kernel row_program<batch=5>(%ids, %table) {
    %rows = embedding(%table, %ids) : f32[5,2,4]
    %y = sum(%rows) {dims=[1]} : f32[5,4]
    yield %y
  } : f32[5,4]
  return %y
}
"""
TABLE = torch.arange(40.0).reshape(10, 4)
CLOCK_US = 40.0


class FakeEvent:
    """Two events are `CLOCK_US` apart."""

    def __init__(self, *, enable_timing):
        assert enable_timing

    def record(self):
        pass

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return CLOCK_US / 1e3


@pytest.fixture
def drivers(monkeypatch, cache_dir):
    """The drivers of the programs that were loaded; CUDA is faked."""
    drivers = []

    def load(plan, module, residents, cache, arch):
        assert arch == "sm_90"
        driver = FakeDriver()
        drivers.append(driver)
        kernels = [(kernel.name, len(kernel.params)) for kernel in module.kernels]
        driver.module = EmulatedModule.build(module.text, kernels, cache_dir=cache_dir / "emulator")
        handles = {name: FIRST_EMITTED + number for number, (name, _) in enumerate(kernels)}
        service = {name: number for number, name in enumerate(SERVICE_KERNELS, 1)}
        loaded = LoadedKernels(handles, ()), LoadedKernels(service, ())
        return CudaProgram(driver, plan, AddressMap(plan, module), *loaded, residents)

    monkeypatch.setattr(tuning_measurer, "load_program", load)
    monkeypatch.setattr(tuning_measurer, "driver_version", lambda: "580.1 13000")
    monkeypatch.setattr(tuning_measurer.nvrtc, "find_toolchain", lambda: SimpleNamespace(name="NVRTC 13.0"))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "TestGPU")
    monkeypatch.setattr(torch.cuda, "device", lambda device: FakeDriver().entered())
    monkeypatch.setattr(torch.cuda, "Event", FakeEvent)
    return drivers


def measurer(cache_dir):
    return CudaMeasurer(Target("cuda", CPU, "sm_90", DeviceLimits(), "test"), {"table": TABLE}, cache_dir)


def test_a_kernel_is_run_and_timed_on_the_drawn_inputs(drivers, cache_dir):
    (launch,) = build_plan(parse_graph(TEXT)).launches
    problem = make_problem(launch)
    plan = build_plan(problem.graph)
    runner = measurer(cache_dir)
    assert tuple(runner.machine) == ("TestGPU", "580.1 13000", "NVRTC 13.0", "sm_90")
    found = runner.measure(problem, plan, emit_module(plan, DeviceLimits()))
    np.testing.assert_array_equal(found.outputs[0], TABLE[torch.from_numpy(problem.inputs[0])].sum(1).numpy())
    assert found.faults == 0
    # 1000 us are worth 25 launches of 40 us.
    assert found.time_us == pytest.approx(CLOCK_US / 25)
    assert max(len(launches) for launches in drivers[0].graphs.values()) == 25


def test_the_gpu_is_used_in_turns_and_compiling_needs_none(drivers, cache_dir):
    log = []

    @contextmanager
    def turn():
        assert len(drivers) == 1, "the program is loaded before the turn"
        log.append("take")
        yield
        assert drivers[0].graphs, "the times are taken within the turn"
        log.append("give")

    (launch,) = build_plan(parse_graph(TEXT)).launches
    problem = make_problem(launch)
    plan = build_plan(problem.graph)
    with tuning_within(turn):
        measurer(cache_dir).measure(problem, plan, emit_module(plan, DeviceLimits()))
    assert log == ["take", "give"]
    measurer(cache_dir).measure(problem, plan, emit_module(plan, DeviceLimits()))
    assert log == ["take", "give"]


def test_bad_ids_are_counted(drivers, cache_dir):
    (launch,) = build_plan(parse_graph(TEXT)).launches
    problem = make_problem(launch)
    problem.inputs[0][3, 1] = 99
    plan = build_plan(problem.graph)
    assert measurer(cache_dir).measure(problem, plan, emit_module(plan, DeviceLimits())).faults > 0


def test_nothing_is_held_after_the_search(drivers, cache_dir):
    (launch,) = build_plan(parse_graph(TEXT)).launches
    problem = make_problem(launch)
    plan = build_plan(problem.graph)
    runner = measurer(cache_dir)
    gc.collect()
    gc.disable()
    try:
        runner.measure(problem, plan, emit_module(plan, DeviceLimits()))
        shared = weakref.ref(runner._shared)
        del runner
        assert shared() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23\n", "580.95.05 13000"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86  Release Build\n", "570.86 13000"),
        ("something else\n", "13000"),
        (None, "13000"),
    ],
)
def test_the_driver_is_named_as_far_as_it_is_known(monkeypatch, tmp_path, text, expected):
    path = tmp_path / "version"
    if text is not None:
        path.write_text(text)
    runtime = SimpleNamespace(driverGetVersion=lambda: 13000)
    monkeypatch.setattr(tuning_measurer, "_DRIVER_FILE", path)
    monkeypatch.setattr(tuning_measurer.cupy_modules, "cuda", lambda: SimpleNamespace(runtime=runtime))
    assert tuning_measurer.driver_version() == expected
