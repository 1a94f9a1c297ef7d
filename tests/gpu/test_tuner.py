"""Tuning on a GPU: right scores, the choice kept, nothing of the user's touched."""

import pytest
import torch
from torch import nn

import dlrmc
from dlrmc.runtime.tuning_measurer import CudaMeasurer

pytestmark = pytest.mark.gpu

BATCH = 300


class Scorer(nn.Module):
    """Two tables and a layer."""

    def __init__(self):
        super().__init__()
        self.one = nn.EmbeddingBag(50, 16, mode="sum")
        self.two = nn.EmbeddingBag(7, 16, mode="sum")
        self.layer = nn.Linear(32, 8)

    def forward(self, ids, offsets, kind):
        return torch.relu(self.layer(torch.cat([self.one(ids, offsets), self.two(kind)], dim=1)))


def request():
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(50, (2 * BATCH,), generator=generator)
    kind = torch.randint(7, (BATCH, 2), generator=generator)
    return ids.cuda(), torch.arange(0, 2 * BATCH, 2).cuda(), kind.cuda()


def test_the_choice_is_right_and_kept(tmp_path, monkeypatch):
    model, inputs = Scorer().cuda().eval(), request()
    exported = torch.export.export(model, inputs)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random = (torch.get_rng_state(), torch.cuda.get_rng_state())
    tuned = dlrmc.compile(exported, target="cuda", tune="fast", cache_dir=tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(tuned(*inputs), model(*inputs), rtol=1e-5, atol=1e-5)
    tuned.check()
    after = (torch.get_rng_state(), torch.cuda.get_rng_state())
    assert all(torch.equal(one, other) for one, other in zip(random, after, strict=True))
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    programs = [n for n in tuned._build.graph.nodes if n.is_op("kernel")]
    count = sum(node.attributes.str("impl") == "row_program" for node in programs)
    assert count > 0
    assert len(list((tmp_path / "tuning").glob("*.json"))) == count

    def refuse(*args):
        raise AssertionError("measured again")

    monkeypatch.setattr(CudaMeasurer, "measure", refuse)
    again = dlrmc.compile(exported, target="cuda", tune="fast", cache_dir=tmp_path)
    assert again._build.module.text == tuned._build.module.text
