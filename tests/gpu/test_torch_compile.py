"""`torch.compile(model, backend="dlrmc")` on a GPU, found by its entry point."""

import textwrap
import warnings

import pytest
import torch
from torch import nn

from dlrmc import dynamo
from dlrmc.errors import FallbackWarning
from tests.installed import run_as_installed

pytestmark = pytest.mark.gpu


class Bags(nn.Module):
    """Two tables, a layer, and a buffer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.tables = nn.ModuleList(nn.EmbeddingBag(50, 8, mode="sum") for _ in range(2))
        self.top = nn.Linear(16, 3)
        self.shift = nn.Buffer(torch.ones(3))

    def forward(self, ids, offsets):
        parts = [table(i, o) for table, i, o in zip(self.tables, ids, offsets, strict=True)]
        return self.top(torch.cat(parts, dim=1)) + self.shift


def request(batch, seed=0):
    generator = torch.Generator().manual_seed(10 * batch + seed)
    ids = [torch.randint(50, (3 * batch,), generator=generator).cuda() for _ in range(2)]
    return ids, [(torch.arange(batch) * 3).cuda() for _ in range(2)]


@pytest.fixture
def model():
    torch._dynamo.reset()
    with torch.no_grad():
        yield Bags().eval().cuda()
    torch._dynamo.reset()


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_batches_of_two_five_and_seven(dynamic, model):
    compiled = torch.compile(model, backend=dynamo.backend, dynamic=dynamic, fullgraph=True)
    for batch in (2, 5, 7, 5, 2):
        torch.testing.assert_close(compiled(*request(batch)), model(*request(batch)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", dynamo.MODES)
def test_modes_and_options(mode, model):
    compiled = torch.compile(model, backend=dynamo.backend, mode=mode)
    with torch.inference_mode():
        torch.testing.assert_close(compiled(*request(4)), model(*request(4)), rtol=1e-5, atol=1e-5)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=dynamo.backend, options={"bounds": "raise", "strict": True})
    torch.testing.assert_close(compiled(*request(4)), model(*request(4)), rtol=1e-5, atol=1e-5)


def test_new_inputs_earlier_results_and_new_weights(model):
    compiled = torch.compile(model, backend=dynamo.backend)
    kept = [(request(4, seed), compiled(*request(4, seed))) for seed in range(20)]
    for inputs, found in kept:
        torch.testing.assert_close(found, model(*inputs), rtol=1e-5, atol=1e-5)
    model.load_state_dict({name: value * 2 for name, value in model.state_dict().items()})
    torch.testing.assert_close(compiled(*request(4)), model(*request(4)), rtol=1e-5, atol=1e-5)


class Unsupported(nn.Module):
    def forward(self, x):
        return torch.linalg.inv(x) + 1


def test_a_graph_that_cannot_be_compiled_runs_in_eager_mode(model):
    compiled = torch.compile(Unsupported(), backend=dynamo.backend)
    x = torch.eye(3, device="cuda") * 2
    with pytest.warns(FallbackWarning, match="runs in eager mode"):
        compiled(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(compiled(x), torch.linalg.inv(x) + 1)


def test_nothing_is_imported(tmp_path):
    script = """
        import sys, torch
        assert "dlrmc" in torch._dynamo.list_backends()
        assert not any(name.startswith("dlrmc") for name in sys.modules)
        layer = torch.nn.Linear(4, 2).eval().cuda()
        with torch.no_grad():
            compiled = torch.compile(layer, backend="dlrmc")
            for batch in (2, 5, 7):
                x = torch.randn(batch, 4, device="cuda")
                torch.testing.assert_close(compiled(x), layer(x), rtol=1e-5, atol=1e-5)
        assert "dlrmc.dynamo" in sys.modules
    """
    run_as_installed(textwrap.dedent(script), tmp_path)
