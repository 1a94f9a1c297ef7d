"""The call path of a GPU, with the emulator in the GPU's place: tests/gpu has the rest."""

import gc
import weakref

import pytest
import torch

from dlrmc.errors import BoundsError, InputError
from dlrmc.options import Options
from dlrmc.runtime.cuda_driver import PER_THREAD_STREAM
from tests.runtime.fake_cuda import compile_on_fake_cuda
from tests.runtime.programs import DENSE, IDS, LOOKUP, TABLE, eager_lookup, make_build, make_program

BAD = torch.tensor([1, 2, 10**9, -3])


def make_lookup(cache_dir, **options):
    program = make_program(LOOKUP, {"table": TABLE}, ("dense", "ids"), {}, (0, 1))
    options = Options(target="emulate", cache_dir=cache_dir, **options)
    return compile_on_fake_cuda(make_build(program, options))


@pytest.fixture
def fake(cache_dir):
    return make_lookup(cache_dir)


def request(number):
    generator = torch.Generator().manual_seed(number)
    return torch.randn(4, 3, generator=generator), torch.randint(10, (4,), generator=generator)


def same(found, dense, ids):
    for one, other in zip(found, eager_lookup(dense, ids), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    return True


def count(driver, kind):
    return sum(event[0] == kind for event in driver.events)


# -- addresses and tables


def test_many_calls_with_results_kept_and_dropped(fake):
    lookup, _ = fake
    kept = []
    for number in range(60):
        dense, ids = request(number // 2)
        found = lookup(dense, ids)
        if number % 3:
            kept.append((found, dense, ids))
    for each in kept:
        assert same(*each)


def test_the_same_tensors_write_no_table(fake):
    lookup, driver = fake
    dense, ids = request(1)
    results = [lookup(dense, ids) for _ in range(2)]
    addresses = {tuple(tensor.data_ptr() for tensor in result) for result in results}
    out = results[0]
    driver.events.clear()
    for number in range(5):
        dense.copy_(request(number)[0])
        assert same(lookup(dense, ids, out=out), dense, ids)
    assert driver.events == [("graph", 0)] * 5
    assert len(addresses) == 2


def test_a_few_sets_of_results_in_turn_write_no_table_a_fifth_one_does(fake):
    lookup, driver = fake
    dense, ids = request(1)
    outs = [(torch.empty(4, 3), torch.empty(4, 3)) for _ in range(5)]
    for out in outs[:4] * 3:
        lookup(dense, ids, out=out)
    assert count(driver, "table") == 4
    lookup(dense, ids, out=outs[4])
    lookup(dense, ids, out=outs[1])
    assert count(driver, "table") == 5
    assert same(lookup(dense, ids, out=outs[0]), dense, ids)
    assert count(driver, "table") == 6


def test_a_tensor_that_changes_in_place_under_the_same_object(fake):
    lookup, _ = fake
    dense, ids = request(1)
    lookup(dense, ids)
    lookup(dense, ids)
    other = request(2)
    dense.set_(other[0])
    assert same(lookup(dense, ids), other[0], ids)
    ids.data = other[1]
    assert same(lookup(dense, ids), *other)
    dense.resize_(4, 2)
    with pytest.raises(InputError, match=r"f32\[4,2\]"):
        lookup(dense, ids)
    square = torch.arange(12.0).reshape(3, 4)
    square.t_()
    assert not square.is_contiguous()
    assert same(lookup(square, ids), square, ids)


def test_misaligned_and_strided_inputs_between_good_ones(fake):
    lookup, _ = fake
    dense, ids = request(1)
    misaligned = torch.cat([torch.zeros(1), dense.flatten()])[1:].reshape(4, 3)
    assert misaligned.data_ptr() % 16
    strided = torch.stack([ids, ids], dim=1)[:, 1]
    for _ in range(3):
        assert same(lookup(misaligned, strided), dense, ids)
        assert same(lookup(misaligned, ids), dense, ids)
        misaligned += 1
        dense = misaligned.clone()
        assert same(lookup(dense, ids), dense, ids)


def test_a_table_that_was_not_written_is_not_believed(fake):
    lookup, driver = fake
    dense, ids = request(1)
    out = (torch.empty(4, 3), torch.empty(4, 3))
    lookup(dense, ids, out=out)
    other = request(2)
    good, driver_error = driver.launch_kernel, RuntimeError("launch failed")

    def fail(*arguments):
        raise driver_error

    slots = lookup._executor.slots._by_outputs.values()
    for slot in slots:
        slot.table._launch_kernel = fail
    with pytest.raises(RuntimeError, match="launch failed"):
        lookup(*other, out=out)
    for slot in slots:
        slot.table._launch_kernel = good
    assert same(lookup(*other, out=out), *other)
    assert same(lookup(dense, ids, out=out), dense, ids)


# -- streams


def test_one_stream_costs_no_event(fake):
    lookup, driver = fake
    driver.events.clear()
    for number in range(3):
        lookup(*request(number))
    assert {event[0] for event in driver.events} == {"table", "graph"}


def test_a_change_of_streams_orders_the_calls(fake):
    lookup, driver = fake
    dense, ids = request(1)
    out = (torch.empty(4, 3), torch.empty(4, 3))
    lookup(dense, ids, out=out)
    driver.events.clear()
    for stream in (7, 7, 0):
        driver.stream = stream
        lookup(dense, ids, out=out)
    assert driver.events == [
        ("record", 0),
        ("wait", 7),
        ("graph", 7),
        ("graph", 7),
        ("record", 7),
        ("wait", 0),
        ("graph", 0),
    ]


def test_a_foreign_stream_is_asked_while_it_surely_lives(fake):
    lookup, driver = fake
    dense, ids = request(1)
    out = (torch.empty(4, 3), torch.empty(4, 3))
    driver.stream, driver.foreign = 50, {50}
    lookup(dense, ids, out=out)
    driver.events.clear()
    lookup(dense, ids, out=out)
    driver.stream = 0
    lookup(dense, ids, out=out)
    assert driver.events == [("graph", 50), ("record", 50), ("wait", 0), ("graph", 0)]


def test_the_per_thread_stream_is_another_one_each_time(fake):
    lookup, driver = fake
    dense, ids = request(1)
    out = (torch.empty(4, 3), torch.empty(4, 3))
    driver.stream, driver.foreign = PER_THREAD_STREAM, {PER_THREAD_STREAM}
    lookup(dense, ids, out=out)
    driver.events.clear()
    lookup(dense, ids, out=out)
    two = PER_THREAD_STREAM
    assert driver.events == [("wait", two), ("graph", two), ("record", two)]


def test_no_event_goes_onto_a_stream_that_is_captured(fake):
    lookup, driver = fake
    dense, ids = request(1)
    driver.stream = 7
    lookup(dense, ids)
    driver.stream, driver.captured_streams = 0, {7}
    driver.events.clear()
    assert same(lookup(dense, ids), dense, ids)
    assert ("record", 7) not in driver.events


# -- steps, captures, instances


def test_a_step_is_one_launch(fake):
    lookup, driver = fake
    dense, ids = request(1)
    step = lookup.bind(dense, ids)
    driver.events.clear()
    for number in range(3):
        other = request(number)
        dense.copy_(other[0])
        ids.copy_(other[1])
        assert same(step(), *other)
        assert step() is step.outputs
    assert driver.events == [("graph", 0)] * 6


def test_a_call_and_a_step_in_a_capture_are_recorded_kernel_by_kernel(fake):
    lookup, driver = fake
    driver.stream = 5  # CUDA does not capture its default stream, 0
    dense, ids = request(1)
    step = lookup.bind(dense, ids)
    step()
    driver.events.clear()
    driver.captures = True
    assert same(lookup(dense, ids), dense, ids)
    step()
    assert driver.events == [("table", 5), ("kernel", 5), ("kernel", 5)] * 2
    assert same(step.outputs, dense, ids)
    driver.captures = False
    other = request(2)
    assert same(lookup(*other), *other)


def test_a_replica_shares_weights_and_nothing_else(fake):
    lookup, driver = fake
    other = lookup.replica()
    ours, theirs = lookup._executor, other._executor
    assert ours._program is theirs._program
    assert ours._arena.data_ptr() != theirs._arena.data_ptr()
    driver.stream = 3
    driver.events.clear()
    assert same(other(*request(1)), *request(1))
    assert ("wait", 3) not in driver.events
    assert (lookup.stats()["calls"], other.stats()["calls"]) == (0, 1)


def test_programs_steps_and_replicas_go_without_the_garbage_collector(cache_dir):
    gc.disable()
    try:
        lookup, driver = make_lookup(cache_dir)
        step, replica = lookup.bind(*request(1)), lookup.replica()
        step()
        watched = [
            weakref.ref(each) for each in (lookup._executor, step._run.func.__self__, replica._executor)
        ]
        del lookup, step, replica
        assert [watch() for watch in watched] == [None] * 3
    finally:
        gc.enable()
    assert count(driver, "wait on host") >= 1


# -- ids out of range


def test_the_call_of_a_bad_id_is_counted_exactly(fake):
    lookup, _ = fake
    for number in range(20):
        lookup(*request(number))
    lookup(DENSE, BAD)
    with pytest.raises(BoundsError) as caught:
        lookup(DENSE, IDS)
    error = caught.value
    assert (error.input, error.call, error.position, error.value, error.limit) == ("ids", 21, 2, 10**9, 10)
    assert lookup.stats()["faults"] == 6
    assert same(lookup(DENSE, IDS), DENSE, IDS)
    lookup(DENSE, BAD)
    with pytest.raises(BoundsError) as caught:
        lookup.check()
    assert caught.value.call == 23
    lookup.check()


def test_a_step_has_records_of_its_own(fake):
    lookup, _ = fake
    ids = BAD.clone()
    step = lookup.bind(DENSE, ids)
    step()
    lookup.check()
    with pytest.raises(BoundsError, match="ids in call 1"):
        step.check()
    ids.copy_(IDS)
    assert same(step(), DENSE, IDS)


@pytest.mark.parametrize("bounds", ["raise", "ignore"])
def test_the_other_policies(cache_dir, bounds):
    lookup, _ = make_lookup(cache_dir, bounds=bounds)
    if bounds == "raise":
        with pytest.raises(BoundsError, match="ids in call 1"):
            lookup(DENSE, BAD)
    else:
        lookup(DENSE, BAD)
        lookup.check()
    assert lookup.stats()["faults"] == 6
    assert same(lookup(DENSE, IDS), DENSE, IDS)
