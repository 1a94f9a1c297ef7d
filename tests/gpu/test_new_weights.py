"""New weights while serving on a GPU: by `update_weights`, by writes in place, under threads."""

import threading

import pytest
import torch
from torch import nn

import dlrmc
from dlrmc.errors import InputError

pytestmark = pytest.mark.gpu

BATCH, ROWS = 16, 50


class Scorer(nn.Module):
    """A table, a normalisation that is folded into a layer, a wide layer that is packed."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.table = nn.EmbeddingBag(ROWS, 16, mode="sum")
        self.first = nn.Linear(16, 64)
        self.norm = nn.BatchNorm1d(64)
        self.last = nn.Linear(64, 4)

    def forward(self, ids):
        return self.last(torch.relu(self.norm(self.first(self.table(ids)))))


@pytest.fixture
def model():
    return Scorer().eval().cuda()


@pytest.fixture
def compiled(model, tmp_path_factory):
    cache_dir = tmp_path_factory.getbasetemp() / "weights"
    return dlrmc.compile(torch.export.export(model, (request(0),)), cache_dir=cache_dir)


def request(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(ROWS, (BATCH, 3), generator=generator).cuda()


def agree(found, model, ids):
    with torch.no_grad():
        torch.testing.assert_close(found, model(ids), rtol=1e-4, atol=1e-5)


def changed(state):
    return {name: value * 1.5 if value.is_floating_point() else value for name, value in state.items()}


def test_writes_in_place_and_load_state_dict(compiled, model):
    step = compiled.bind(request(1))
    agree(compiled(request(1)), model, request(1))
    with torch.no_grad():
        model.table.weight[3] = 7
        model.norm.weight.mul_(2)
    agree(compiled(request(2)), model, request(2))
    agree(step(), model, request(1))
    model.load_state_dict(changed(model.state_dict()))
    agree(step(), model, request(1))
    agree(compiled.replica()(request(3)), model, request(3))
    agree(compiled(request(3)), model, request(3))


def test_update_weights_keeps_memory_and_shares_the_tables(compiled, model):
    compiled(request(1))
    state = changed({name: value.cpu() for name, value in model.state_dict().items()})
    other = Scorer().eval().cuda()
    other.load_state_dict(state)
    torch.cuda.synchronize()
    memory = torch.cuda.memory_allocated()
    for _ in range(5):
        compiled.update_weights(state)
    assert torch.cuda.memory_allocated() <= memory + 4096
    found = compiled(request(1))
    agree(found, other, request(1))
    assert torch.equal(model.table.weight, other.table.weight)


def test_a_capture_sees_new_weights_after_an_update(compiled, model):
    ids = request(5)
    compiled(ids)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = compiled(ids)
    compiled.update_weights(changed(model.state_dict()))
    graph.replay()
    agree(found, model, ids)
    with torch.no_grad():
        model.norm.weight.mul_(2)
    again = torch.cuda.CUDAGraph()
    with pytest.raises(InputError, match="while a CUDA graph is captured"), torch.cuda.graph(again):
        compiled(ids)
    agree(compiled(ids), model, ids)


def test_no_call_of_eight_threads_mixes_old_and_new(compiled, model):
    """Scores are linear in the last layer, whose weights and bias are updated together."""
    ids = request(6)
    states = [{k: v.clone() for k, v in model.state_dict().items()}]
    for _ in range(3):
        states.append(changed(states[-1]))
    expected = []
    for state in states:
        model.load_state_dict(state)
        with torch.no_grad():
            expected.append(model(ids))
    failures, stop = [], threading.Event()

    def serve(call):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                while not stop.is_set():
                    found = call(ids)
                    if not any(torch.allclose(found, each, rtol=1e-4, atol=1e-5) for each in expected):
                        failures.append(found)
        except BaseException as error:
            failures.append(error)

    calls = [compiled] * 4 + [compiled.replica() for _ in range(4)]
    threads = [threading.Thread(target=serve, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for turn in range(60):
        compiled.update_weights(states[turn % len(states)])
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
