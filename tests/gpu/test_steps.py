"""Steps of fixed addresses, and calls in the caller's own CUDA graph."""

import pytest
import torch

from dlrmc.errors import InputError
from tests.gpu.lookup_requests import request, same
from tests.runtime.programs import (
    DENSE,
    IDS,
)

pytestmark = pytest.mark.gpu


def test_a_step_reads_its_tensors_anew(lookup):
    dense, ids = request(1)
    step = lookup.bind(dense, ids)
    assert same(step(), dense, ids)
    other = request(2)
    dense.copy_(other[0])
    ids.copy_(other[1])
    assert same(lookup(*request(3)), *request(3))  # a call between does not disturb it
    assert same(step(), dense, ids)
    assert step() is step.outputs


def test_a_step_refuses_what_it_would_have_to_copy(lookup):
    with pytest.raises(InputError, match="input dense"):
        lookup.bind(DENSE, IDS.cuda())
    with pytest.raises(InputError, match="contiguous"):
        lookup.bind(DENSE.cuda().t().contiguous().t(), IDS.cuda())


def test_capture_in_the_callers_own_graph(lookup):
    dense, ids = request(1)
    lookup(dense, ids)  # as torch asks for: one run before the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = lookup(dense, ids)
    for number in range(2, 6):
        other = request(number)
        dense.copy_(other[0])
        ids.copy_(other[1])
        graph.replay()
        direct = lookup(*request(number + 10))  # its buffers are not those of the captured call
        graph.replay()
        assert same(found, *other)
        assert same(direct, *request(number + 10))


def test_a_step_in_the_callers_own_graph(lookup):
    dense, ids = request(1)
    step = lookup.bind(dense, ids)
    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    dense.mul_(3)
    graph.replay()
    assert same(step.outputs, dense, ids)
