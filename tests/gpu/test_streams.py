"""Calls on the caller's stream, beside other streams, threads, captures and GPUs."""

import threading

import pytest
import torch

from dlrmc.errors import InputError
from tests.gpu.lookup_requests import SLEEP_CYCLES, request, same
from tests.runtime.programs import (
    DENSE,
    IDS,
    TABLE,
    compile_lookup,
    eager_lookup,
)

pytestmark = pytest.mark.gpu


def check_on_stream(lookup, stream, times):
    """Inputs made behind a long kernel, the call and the reader on one stream, and the host never waits."""
    requests = [request(number) for number in range(8)]
    torch.cuda.synchronize()
    found = []
    with torch.cuda.stream(stream):
        for turn in range(times):
            torch.cuda._sleep(SLEEP_CYCLES // 20)
            dense, ids = (tensor.clone() for tensor in requests[turn % 8])
            found.append(lookup(dense, ids)[0].clone())
    stream.synchronize()
    for turn, result in enumerate(found):
        expected = eager_lookup(*(tensor.cpu() for tensor in requests[turn % 8]))[0]
        torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0)


def test_a_side_stream_200_times(lookup):
    check_on_stream(lookup, torch.cuda.Stream(), 200)


def test_the_default_stream(lookup):
    check_on_stream(lookup, torch.cuda.default_stream(), 20)


def test_the_per_thread_default_stream(lookup):
    check_on_stream(lookup, torch.cuda.ExternalStream(2), 20)


def test_a_stream_that_its_owner_destroys(lookup):
    import cupy

    for turn in range(20):
        stream = cupy.cuda.Stream(non_blocking=True)
        check_on_stream(lookup, torch.cuda.ExternalStream(stream.ptr), 2)
        del stream
        assert same(lookup(*request(turn)), *request(turn))


def test_a_call_beside_a_capture_on_the_stream_of_the_last_call(lookup):
    stream = torch.cuda.Stream()
    dense, ids = request(1)
    with torch.cuda.stream(stream):
        lookup(dense, ids)
    graph = torch.cuda.CUDAGraph()
    x = torch.zeros(8, device="cuda")
    found = []
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        x.add_(1)
        thread = threading.Thread(target=lambda: found.append(lookup(dense, ids)))
        thread.start()
        thread.join()
    graph.replay()
    assert same(found[0], dense, ids)
    assert x.tolist() == [1.0] * 8


def test_cupys_current_stream_does_not_matter(lookup):
    import cupy

    with cupy.cuda.Stream(non_blocking=True):
        check_on_stream(lookup, torch.cuda.Stream(), 20)


def test_calls_on_two_streams_share_the_buffers_in_turn(lookup):
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    requests = [request(number) for number in range(2)]
    torch.cuda.synchronize()
    found = []
    for turn in range(100):
        with torch.cuda.stream(streams[turn % 2]):
            torch.cuda._sleep(SLEEP_CYCLES // 100 * (turn % 3))
            found.append(lookup(*requests[turn % 2])[0])
    torch.cuda.synchronize()
    for turn, result in enumerate(found):
        expected = eager_lookup(*(tensor.cpu() for tensor in requests[turn % 2]))[0]
        torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0)


def test_eight_threads_with_their_own_streams(lookup):
    failures = []

    def serve(number):
        try:
            check_on_stream(lookup, torch.cuda.Stream(), 50)
        except BaseException as error:
            failures.append((number, error))

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_others_allocate_and_synchronise_while_instances_are_made(lookup):
    failures, stop = [], threading.Event()

    def disturb():
        try:
            while not stop.is_set():
                torch.empty(1 << 20, device="cuda").zero_()
                torch.cuda.synchronize()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for number in range(20):
            dense, ids = request(number)
            assert same(lookup.bind(dense, ids)(), dense, ids)
            assert same(lookup.replica()(dense, ids), dense, ids)
    finally:
        stop.set()
        thread.join()
    assert failures == []


@pytest.mark.skipif(not torch.cuda.is_available() or torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_model_on_a_gpu_that_is_not_current(cache_dir):
    first = compile_lookup(cache_dir, target="cuda", table=TABLE.to("cuda:0"))
    before = torch.cuda.memory_allocated(0)
    second = compile_lookup(cache_dir, target="cuda", table=TABLE.to("cuda:1"))
    for _ in range(3):
        assert same(second(DENSE.to("cuda:1"), IDS.to("cuda:1")), DENSE, IDS)
        assert torch.cuda.current_device() == 0
        assert torch.cuda.memory_allocated(0) == before
        assert same(first(DENSE.to("cuda:0"), IDS.to("cuda:0")), DENSE, IDS)
    with pytest.raises(InputError, match="cuda:1"):
        first(DENSE.to("cuda:1"), IDS.to("cuda:1"))
