"""The tuner without a GPU: what it draws, tries, chooses, drops and keeps, measured by tests' own clocks."""

import logging
import random
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch

from dlrmc.errors import CacheWarning, CodegenError, CompileError, OptionError
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.reference import evaluate
from dlrmc.options import Options
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.passes.fuse_rows import fuse_rows
from dlrmc.runtime import tuner as tuner_module
from dlrmc.runtime.emulated_executor import EmulatedExecutor
from dlrmc.runtime.faults import FaultLog
from dlrmc.runtime.targets import choose_target
from dlrmc.runtime.tensors import to_numpy, to_torch
from dlrmc.runtime.tuner import Measurement, Tuner, same_numbers, tune_program
from dlrmc.runtime.tuning_cache import TuningCache
from dlrmc.runtime.tuning_choice import FAST_COUNT, Choice, candidates
from dlrmc.runtime.tuning_problem import make_problem
from dlrmc.runtime.weights import Residents
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.limits import DeviceLimits

BATCH = 21
# Four multiprocessors: the static choice for 21 rows is tiles of 8.
LIMITS = DeviceLimits(multiprocessors=4)
STATIC_ROWS = 8
TEXT = f"""graph @small {{
  input %dense : f32[{BATCH},3]
  input %ids : i64[{2 * BATCH}]
  input %offsets : i64[{BATCH}]
  input %kind : i64[{BATCH}]
  weight %table : f32[10,4] = "table"
  weight %kinds : f32[3,4] = "kinds"
  weight %w : f32[8,11] = "w"
  %bags = embedding_bag(%table, %ids, %offsets) : f32[{BATCH},4]
  %one = embedding(%kinds, %kind) : f32[{BATCH},4]
  %y = linear([%bags, %one, %dense], %w) {{act=relu}} : f32[{BATCH},8]
  return %y
}}
"""
GENERATOR = np.random.default_rng(5)
WEIGHTS = {
    "table": torch.from_numpy(GENERATOR.standard_normal((10, 4), dtype=np.float32)),
    "kinds": torch.from_numpy(GENERATOR.standard_normal((3, 4), dtype=np.float32)),
    "w": torch.from_numpy(GENERATOR.standard_normal((8, 11), dtype=np.float32)),
}


def fused():
    graph = parse_graph(TEXT)
    fuse_rows(graph)
    form_kernels(graph)
    return graph


def the_kernel(graph):
    (kernel,) = [node for node in graph.nodes if node.is_op("kernel")]
    assert kernel.attributes.str("impl") == "row_program"
    return kernel


def chosen(graph):
    attributes = the_kernel(graph).attributes
    return Choice(attributes.int("rows"), attributes.int("threads"))


def problem_of(graph):
    (launch,) = build_plan(graph).launches
    return make_problem(launch)


@dataclass
class FakeMeasurer:
    """Says that each choice takes what `times` has for it, else 100 us; some choices fail or are wrong."""

    times: dict = field(default_factory=dict)
    refused: tuple = ()
    wrong: tuple = ()
    faulty: tuple = ()
    machine: tuple = ("GPU", "1.0", "NVRTC 13.0")
    measured: list = field(default_factory=list)

    def measure(self, problem, plan, module):
        attributes = plan.launches[0].kernel.attributes
        choice = Choice(attributes.int("rows"), attributes.int("threads"))
        self.measured.append(choice)
        if choice in self.refused:
            raise CompileError("NVRTC", found="a refusal", expected="none")
        value = np.full(3, 2.0 if choice in self.wrong else 1.0, dtype=np.float32)
        return Measurement((value,), int(choice in self.faulty), self.times.get(choice, 100.0))


def tuner(measurer, folder, effort="full", limits=LIMITS):
    return Tuner(measurer, TuningCache(folder), limits, "fp32", effort)


BEST, SECOND = Choice(4, 256), Choice(16, 1024)
TIMES = {BEST: 50.0, SECOND: 60.0}


# -- what is chosen


def test_the_fastest_is_written_into_the_ir(tmp_path):
    graph = fused()
    tuner(FakeMeasurer(TIMES), tmp_path).tune(graph)
    assert chosen(graph) == BEST
    assert "row_program<batch=21, rows=4, threads=256>" in print_graph(graph)
    assert [node.name for node in graph.outputs] == [node.name for node in fused().outputs]


def test_without_a_gain_that_counts_the_text_stays(tmp_path):
    graph = fused()
    tuner(FakeMeasurer({BEST: 99.0}), tmp_path).tune(graph)
    assert print_graph(graph) == print_graph(fused())


@pytest.mark.parametrize("fault", ["refused", "wrong", "faulty"])
def test_a_candidate_that_fails_is_never_chosen(tmp_path, fault, caplog):
    graph = fused()
    with caplog.at_level(logging.INFO, "dlrmc.tuning"):
        tuner(FakeMeasurer(TIMES, **{fault: (BEST,)}), tmp_path).tune(graph)
    assert chosen(graph) == SECOND
    assert sum("rows=4, threads=256 is dropped" in line for line in caplog.messages) == 1


@pytest.mark.parametrize("fault", ["refused", "faulty"])
def test_a_kernel_that_cannot_be_measured_stays_and_is_not_kept(tmp_path, fault, caplog):
    graph, measurer = fused(), FakeMeasurer(TIMES, **{fault: (Choice(),)})
    tuner(measurer, tmp_path).tune(graph)
    assert print_graph(graph) == print_graph(fused())
    assert measurer.measured == [Choice()]
    assert "is not tuned" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_steps_tell_how_far_the_search_is(tmp_path, caplog):
    with caplog.at_level(logging.DEBUG, "dlrmc.tuning"):
        tuner(FakeMeasurer(TIMES), tmp_path, "fast").tune(fused())
    steps = [record.tuning_step for record in caplog.records if hasattr(record, "tuning_step")]
    assert [step.done for step in steps] == list(range(1, steps[0].count + 1))
    assert {(step.kernel, step.kernels) for step in steps} == {(1, 1)}
    assert steps[-1].left_s == 0
    assert steps[0].left_s > 0


# -- what is kept


def test_a_second_compile_measures_nothing(tmp_path):
    first, second = fused(), fused()
    tuner(FakeMeasurer(TIMES), tmp_path).tune(first)
    measurer = FakeMeasurer()
    tuner(measurer, tmp_path).tune(second)
    assert measurer.measured == []
    assert print_graph(second) == print_graph(first)


def test_that_nothing_is_faster_is_kept_too(tmp_path):
    tuner(FakeMeasurer(), tmp_path).tune(fused())
    measurer = FakeMeasurer(TIMES)
    graph = fused()
    tuner(measurer, tmp_path).tune(graph)
    assert (measurer.measured, chosen(graph)) == ([], Choice())


@pytest.mark.parametrize("place", [0, 1, 2])
def test_another_machine_is_measured_anew(tmp_path, place):
    tuner(FakeMeasurer(TIMES), tmp_path).tune(fused())
    machine = list(FakeMeasurer().machine)
    machine[place] += "1"
    measurer = FakeMeasurer(machine=tuple(machine))
    tuner(measurer, tmp_path).tune(fused())
    assert measurer.measured


def test_another_kernel_effort_or_precision_is_measured_anew(tmp_path):
    tuner(FakeMeasurer(TIMES), tmp_path).tune(fused())
    other = parse_graph(TEXT.replace("act=relu", "act=tanh"))
    fuse_rows(other)
    form_kernels(other)
    for graph, changes in ((other, {}), (fused(), {"effort": "fast"}), (fused(), {"precision": "tf32"})):
        measurer = FakeMeasurer()
        replace(tuner(measurer, tmp_path), **changes).tune(graph)
        assert measurer.measured


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "other"}', None])
def test_a_broken_entry_is_told_once_and_tuned_again(tmp_path, text):
    tuner(FakeMeasurer(TIMES), tmp_path).tune(fused())
    (entry,) = tmp_path.iterdir()
    good = entry.read_text()
    entry.write_text(good.replace('"rows": 4', '"rows": "4"') if text is None else text)
    measurer = FakeMeasurer(TIMES)
    with pytest.warns(CacheWarning, match="tuned again") as caught:
        tuner(measurer, tmp_path).tune(fused())
    assert len(caught) == 1
    assert measurer.measured
    assert entry.read_text() == good


def test_a_folder_that_cannot_be_used_is_told_and_the_choice_counts(tmp_path):
    folder = tmp_path / "file"
    folder.write_text("")
    graph = fused()
    with pytest.warns(CacheWarning, match="cannot be") as caught:
        tuner(FakeMeasurer(TIMES), folder).tune(graph)
    assert chosen(graph) == BEST
    assert len(caught) <= 2


# -- candidates


def test_fast_tries_few_and_full_tries_all_that_fit():
    kernel = the_kernel(fused())
    fast = candidates(kernel, LIMITS, "fast", lambda choice: True)
    full = candidates(kernel, LIMITS, "full", lambda choice: True)
    static = Choice(STATIC_ROWS, 512)
    assert len(fast) == FAST_COUNT - 1
    assert set(fast) <= set(full)
    assert static not in full
    assert {*full, static} == {Choice(r, t) for r in (2, 4, 8, 16, 32) for t in (256, 512, 1024)}
    assert len(set(full)) == len(full)


def test_what_does_not_fit_is_not_tried_and_the_static_choice_is_the_one_that_fits():
    kernel = the_kernel(fused())
    full = candidates(kernel, LIMITS, "full", lambda choice: choice.rows <= 2)
    assert {choice.rows for choice in full} == {1, 2}
    assert Choice(2, 512) not in full


def test_no_tile_is_taller_than_the_batch_needs():
    kernel = the_kernel(fused())
    one = DeviceLimits(multiprocessors=1)
    assert max(c.rows for c in candidates(kernel, one, "full", lambda choice: True)) == 32


class EmulatedMeasurer:
    """Runs each candidate in the emulator and compares it with the reference."""

    machine = ("emulator",)

    def __init__(self, folder):
        self.folder = folder
        self.measured = []

    def measure(self, problem, plan, module):
        from dlrmc.emulator.module import EmulatedModule

        (kernel,) = module.kernels
        emulated = EmulatedModule.build(
            module.text, [(kernel.name, len(kernel.params))], cache_dir=self.folder
        )
        residents = Residents(plan.residents, WEIGHTS, torch.device("cpu"))
        executor = EmulatedExecutor(plan, module, emulated, residents, FaultLog("ignore", kernel.sites, {}))
        outputs = tuple(to_numpy(each) for each in executor.run([to_torch(a) for a in problem.inputs]))
        arrays = {n.name: a for n, a in zip(problem.graph.inputs, problem.inputs, strict=True)}
        weights = {name: to_numpy(tensor) for name, tensor in WEIGHTS.items()}
        wanted = evaluate(problem.graph, arrays, weights)
        for found, value in zip(outputs, wanted, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-5)
        self.measured.append(plan.launches[0].kernel.attributes)
        return Measurement(outputs, executor.fault_count(), 100.0 - len(self.measured))


def test_every_candidate_computes_what_the_reference_does(tmp_path, cache_dir):
    measurer, graph = EmulatedMeasurer(cache_dir), fused()
    tuner(measurer, tmp_path, "fast").tune(graph)
    assert len(measurer.measured) == FAST_COUNT
    last = measurer.measured[-1]
    assert chosen(graph) == Choice(last.int("rows"), last.int("threads"))


TWO = """graph @two {
  input %x : f32[9,4]
  weight %w : f32[4,4] = "w"
  %k = kernel row_program<batch=9>(%x, %w) {
    %a = linear(%x, %w) {act=relu} : f32[9,4]
    %b = tanh(%x) : f32[9,4]
    yield %a, %b
  } : (f32[9,4], f32[9,4])
  %a = item(%k) {index=0} : f32[9,4]
  %b = item(%k) {index=1} : f32[9,4]
  %y = kernel row_program<batch=9>(%a, %b, %x) {
    %s = add(%a, %b) : f32[9,4]
    %y = mul(%s, %x) : f32[9,4]
    yield %y
  } : f32[9,4]
  return %y, %b
}
"""


def test_kernels_are_tuned_one_by_one_where_they_stand(tmp_path):
    graph, measurer = parse_graph(TWO), FakeMeasurer({Choice(1, 256): 10.0, Choice(2, 512): 5.0})
    arrays = {"x": np.random.default_rng(2).random((9, 4), dtype=np.float32)}
    weights = {"w": np.random.default_rng(3).random((4, 4), dtype=np.float32)}
    before = evaluate(graph, arrays, weights)
    tuner(replace(measurer, refused=(Choice(2, 512),)), tmp_path, limits=DeviceLimits()).tune(graph)
    kernels = [node for node in graph.nodes if node.is_op("kernel")]
    assert [node.name for node in kernels] == ["k", "y"]
    assert [node.attributes.int("threads") for node in kernels] == [256, 256]
    for found, wanted in zip(evaluate(graph, arrays, weights), before, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert parse_graph(print_graph(graph)) is not None


def test_what_other_kernels_compute_is_drawn_too():
    plan = build_plan(parse_graph(TWO))
    first, second = (make_problem(launch) for launch in plan.launches)
    assert [node.name for node in first.graph.inputs] == ["x"]
    assert len(first.graph.outputs) == 2
    assert [node.name for node in second.graph.inputs] == ["a", "b", "x"]
    assert [array.shape for array in second.inputs] == [(9, 4)] * 3


def test_a_choice_that_does_not_fit_in_the_plan_is_dropped(tmp_path, monkeypatch, caplog):
    def refuse(*args):
        raise CodegenError("row program %y", found="much", expected="less")

    monkeypatch.setattr(tuner_module, "emit_kernel", refuse)
    graph = fused()
    tuner(FakeMeasurer(TIMES), tmp_path).tune(graph)
    assert print_graph(graph) == print_graph(fused())
    assert "rows=4, threads=256 is dropped" in caplog.text


# -- what is drawn


def test_ids_and_offsets_are_valid_and_spread():
    problem = problem_of(fused())
    drawn = {n.name: a for n, a in zip(problem.graph.inputs, problem.inputs, strict=True)}
    assert set(drawn["ids"].tolist()) <= set(range(10))
    assert len(set(drawn["ids"].tolist())) > 3
    assert set(drawn["kind"].tolist()) <= set(range(3))
    np.testing.assert_array_equal(drawn["offsets"], np.arange(0, 2 * BATCH, 2))
    assert drawn["dense"].dtype == np.float32


def test_ids_of_two_tables_fit_the_smaller_also_behind_views():
    text = """graph @two {
  input %ids : i64[16,2]
  weight %a : f32[50,4] = "a"
  weight %b : f32[4,4] = "b"
  %first = select(%ids) {dim=1, index=0} : i64[16]
  %x = embedding(%a, %ids) : f32[16,2,4]
  %s = sum(%x) {dims=[1]} : f32[16,4]
  %y = embedding(%b, %first) : f32[16,4]
  %z = add(%s, %y) : f32[16,4]
  return %z
}
"""
    graph = parse_graph(text)
    fuse_rows(graph)
    form_kernels(graph)
    for launch in build_plan(graph).launches:
        problem = make_problem(launch)
        for node, array in zip(problem.graph.inputs, problem.inputs, strict=True):
            if node.name == "ids" and launch.kernel.attributes.str("impl") == "row_program":
                assert array.max() < 4


def test_drawing_and_tuning_leave_the_global_generators_alone(tmp_path):
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    before = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
    weights = {name: tensor.clone() for name, tensor in WEIGHTS.items()}
    tuner(FakeMeasurer(TIMES), tmp_path).tune(fused())
    after = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
    assert before == after
    assert all(torch.equal(weights[name], WEIGHTS[name]) for name in weights)


def test_the_same_inputs_are_drawn_each_time():
    for one, other in zip(problem_of(fused()).inputs, problem_of(fused()).inputs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_numbers_are_the_same_up_to_rounding_only():
    one = np.array([1.0, np.nan, np.inf, 1e-3], dtype=np.float32)
    assert same_numbers([one], [one * np.float32(1 + 1e-6)], "fp32")
    assert not same_numbers([one], [one * np.float32(1.01)], "fp32")
    assert same_numbers([one], [one * np.float32(1.01)], "tf32")
    assert not same_numbers([one], [np.nan_to_num(one)], "fp32")
    ids = np.array([3, 4])
    assert same_numbers([ids], [ids.copy()], "fp32")
    assert not same_numbers([ids], [ids + 1], "bf16")


# -- targets that have nothing to measure


@pytest.mark.parametrize("name", ["emulate", "reference"])
def test_a_target_without_a_gpu_is_told_in_one_line(name, caplog, tmp_path):
    options = Options(target=name, tune="fast", cache_dir=tmp_path)
    graph, target = fused(), choose_target(options, {})
    caplog.clear()
    with caplog.at_level(logging.INFO, "dlrmc.tuning"):
        tune_program(graph, {}, target, options)
    assert caplog.messages == [f"tune=fast: target {name} has nothing to measure"]
    assert print_graph(graph) == print_graph(fused())
    with pytest.raises(OptionError, match="kernels are measured on a GPU"):
        tune_program(graph, {}, target, options.replace(strict=True))
