"""Ids out of range on a GPU: told with the call, and the next request is unharmed."""

import pytest
import torch

from dlrmc.errors import BoundsError
from tests.gpu.lookup_requests import BAD, request, same
from tests.runtime.programs import (
    DENSE,
    IDS,
    compile_lookup,
)

pytestmark = pytest.mark.gpu


def check_message(error, call):
    text = str(error)
    for word in ("ids", f"call {call}", "0 <= id < 10"):
        assert word in text, text
    assert "1000000000 at position 2" in text or "-3 at position 3" in text, text


def test_a_bad_request_is_reported_and_the_next_is_good(lookup):
    lookup(DENSE.cuda(), IDS.cuda())
    lookup(DENSE.cuda(), BAD.cuda())
    with pytest.raises(BoundsError) as caught:
        lookup.check()
    check_message(caught.value, call=2)
    assert same(lookup(DENSE.cuda(), IDS.cuda()), DENSE, IDS)
    lookup.check()


def test_a_bad_request_is_raised_at_the_start_of_the_next_call(lookup):
    lookup(DENSE.cuda(), BAD.cuda())
    torch.cuda.synchronize()
    with pytest.raises(BoundsError) as caught:
        lookup(DENSE.cuda(), IDS.cuda())
    check_message(caught.value, call=1)
    for number in range(3):
        assert same(lookup(*request(number)), *request(number))


def test_the_call_is_counted_exactly(lookup):
    for number in range(37):
        lookup(*request(number))
    lookup(DENSE.cuda(), BAD.cuda())
    for number in range(5):
        try:
            lookup(*request(number))
        except BoundsError as error:
            caught = error
            break
    else:
        with pytest.raises(BoundsError) as info:
            lookup.check()
        caught = info.value
    assert (caught.input, caught.call, caught.limit) == ("ids", 38, 10)
    assert (caught.position, caught.value) in [(2, 10**9), (3, -3)]
    lookup.check()


def test_a_step_tells_of_bad_ids(lookup):
    dense, ids = request(1)
    step = lookup.bind(dense, ids)
    step()
    ids.copy_(BAD)
    step()
    with pytest.raises(BoundsError, match="ids in call 2"):
        step.check()
    ids.copy_(IDS)
    assert same(step(), dense, ids)
    step.check()


def test_raise_is_raised_by_the_call(cache_dir):
    lookup = compile_lookup(cache_dir, target="cuda", bounds="raise")
    for call in (1, 3):
        with pytest.raises(BoundsError) as caught:
            lookup(DENSE.cuda(), BAD.cuda())
        check_message(caught.value, call=call)
        assert same(lookup(DENSE.cuda(), IDS.cuda()), DENSE, IDS)


def test_ignore_only_counts(cache_dir):
    lookup = compile_lookup(cache_dir, target="cuda", bounds="ignore")
    for _ in range(2):
        found = lookup(DENSE.cuda(), BAD.cuda())
    lookup.check()
    assert lookup.stats()["faults"] == 2 * 2 * 3  # two bad ids, each wanted by three threads
    assert found[1][2:].count_nonzero().item() == 0


def test_a_bad_id_in_a_replay_of_the_callers_graph_is_reported(lookup):
    dense, ids = request(1)
    lookup(dense, ids)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        lookup(dense, ids)
    ids.copy_(BAD)
    graph.replay()
    with pytest.raises(BoundsError):
        lookup.check()
    ids.copy_(IDS)
    graph.replay()
    lookup.check()
