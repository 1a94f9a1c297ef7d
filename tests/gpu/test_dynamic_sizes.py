"""Programs with dynamic sizes on a GPU: batches, numbers of ids, steps, captures, memory."""

import random

import pytest
import torch
from torch import nn
from torch.export import Dim

import dlrmc
from dlrmc.errors import BoundsError, InputError

pytestmark = pytest.mark.gpu

TABLES, ROWS, WIDTH = 4, 50, 8


class Recommender(nn.Module):
    """A dense layer beside bags of any length, and a layer on both."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.bags = nn.ModuleList(nn.EmbeddingBag(ROWS, WIDTH, mode="sum") for _ in range(TABLES))
        self.bottom = nn.Linear(3, WIDTH)
        self.top = nn.Linear(WIDTH * (TABLES + 1), 1)

    def forward(self, dense, ids, offsets):
        parts = [torch.relu(self.bottom(dense))]
        parts += [bag(i, o) for bag, i, o in zip(self.bags, ids, offsets, strict=True)]
        return torch.sigmoid(self.top(torch.cat(parts, dim=1)))


@pytest.fixture(scope="module")
def model():
    return Recommender().eval().cuda()


@pytest.fixture
def compiled(model, tmp_path_factory):
    batch = Dim("batch", min=1, max=64)
    ids = [{0: Dim(f"ids{number}", min=0, max=500)} for number in range(TABLES)]
    shapes = ({0: batch}, ids, [{0: batch}] * TABLES)
    exported = torch.export.export(model, request(4, 3), dynamic_shapes=shapes)
    return dlrmc.compile(exported, cache_dir=tmp_path_factory.getbasetemp() / "dynamic")


def request(batch, longest, seed=0):
    """Bags of 0 to `longest` ids, another number for each table."""
    generator = torch.Generator().manual_seed(1000 * seed + 100 * longest + batch)
    ids, offsets = [], []
    for _ in range(TABLES):
        lengths = torch.randint(longest + 1, (batch,), generator=generator)
        offsets.append((torch.cumsum(lengths, 0) - lengths).cuda())
        ids.append(torch.randint(ROWS, (int(lengths.sum()),), generator=generator).cuda())
    return torch.randn(batch, 3, generator=generator).cuda(), ids, offsets


def agree(found, model, inputs):
    with torch.no_grad():
        torch.testing.assert_close(found, model(*inputs), rtol=1e-5, atol=1e-6)


def test_batches_and_numbers_of_ids_in_random_order_twice(compiled, model):
    sizes = [1, 2, 5, 7, 16, 33, 64] * 2
    random.Random(1).shuffle(sizes)
    for seed, batch in enumerate(sizes):
        inputs = request(batch, 1 + seed % 7, seed)
        agree(compiled(*inputs), model, inputs)
    stats = compiled.stats()
    assert (stats["built"], stats["calls"]) == (7, 14)
    compiles, memory = stats["compiles"], torch.cuda.memory_allocated()
    for seed, batch in enumerate(sizes):
        inputs = request(batch, 1 + seed % 5, seed + 20)
        agree(compiled(*inputs), model, inputs)
    del inputs
    assert compiled.stats()["compiles"] == compiles
    assert torch.cuda.memory_allocated() <= memory + 64 * 1024


def test_ids_per_bag_vary_without_a_compiler(compiled, model):
    compiled(*request(5, 3))
    compiles = compiled.stats()["compiles"]
    for seed in range(40):
        inputs = request(5, seed % 9, seed)
        agree(compiled(*inputs), model, inputs)
    assert compiled.stats()["compiles"] == compiles
    assert compiled.stats()["built"] == 1


def test_ids_that_shrink_in_place(compiled, model):
    dense, ids, offsets = request(3, 6, 1)
    agree(compiled(dense, ids, offsets), model, (dense, ids, offsets))
    for each, offset in zip(ids, offsets, strict=True):
        offset.zero_()
        each.resize_(1)
    agree(compiled(dense, ids, offsets), model, (dense, ids, offsets))


def test_offsets_beyond_the_ids_of_the_call(compiled, model):
    good = request(4, 6, 2)
    compiled(*good)
    dense, ids, offsets = request(4, 6, 3)
    offsets[2][3] = ids[2].shape[0] + 1
    compiled(dense, ids, offsets)
    with pytest.raises(BoundsError) as caught:
        compiled.check()
    assert (caught.value.input, caught.value.limit) == ("offsets[2]", ids[2].shape[0])
    agree(compiled(*good), model, good)


def test_more_ids_than_declared(compiled):
    dense, ids, offsets = request(4, 3)
    ids[1] = torch.zeros(501, dtype=torch.int64, device="cuda")
    with pytest.raises(InputError, match=r"ids\[1\], dimension 0: s\d+ = 501\n  expected: .*<= 500"):
        compiled(dense, ids, offsets)


def test_a_step_and_a_capture_of_one_size(compiled, model):
    inputs, other = request(6, 4, 4), request(6, 4, 4)
    step = compiled.bind(*inputs)
    agree(step(), model, inputs)
    graph = torch.cuda.CUDAGraph()
    compiled(*inputs)
    with torch.cuda.graph(graph):
        found = compiled(*inputs)
    inputs[0].copy_(other[0] + 1)
    graph.replay()
    agree(found, model, inputs)
    agree(step(), model, inputs)
    shorter = request(6, 2, 5)
    agree(compiled(*shorter), model, shorter)
    graph.replay()
    agree(found, model, inputs)
