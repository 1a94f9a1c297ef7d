"""Attention, multi-head too, and recurrent layers, against eager."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dlrmc.errors import UnsupportedOpsError
from dlrmc.frontend import import_program
from tests.frontend.imported import Family, assert_equals_eager, evaluate_imported, run_family

torch.manual_seed(0)
Q, K, V = torch.randn(2, 4, 3, 8), torch.randn(2, 4, 5, 8), torch.randn(2, 4, 5, 6)
KEPT = torch.tensor([[True, False, True, True, False], [True] * 5, [False] * 4 + [True]])
ADDED = torch.randn(2, 1, 3, 5)
# A query whose keys are all masked.
NONE_KEPT = torch.tensor([[True] * 5, [False] * 5, [True, False, False, False, False]])
ARGS = (Q, K, V, KEPT, ADDED, NONE_KEPT)

CASES: dict[str, Callable[..., Any]] = {
    "plain": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q, k, v),
    "rank_3": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q[0], k[0], v[0]),
    "rank_2": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0]),
    "scaled": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q, k, v, scale=0.5),
    "causal": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q, q, q, is_causal=True),
    "bool_mask": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
    "float_mask": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q, k, v, attn_mask=a),
    "constant_mask": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q, k, v, attn_mask=KEPT),
    "all_masked": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q, k, v, attn_mask=n),
    "broadcast": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(q, k[:1], v[:1]),
    "grouped": lambda q, k, v, m, a, n: F.scaled_dot_product_attention(
        q, k[:, :2], v[:, :2], enable_gqa=True
    ),
}


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


def test_live_dropout_is_refused() -> None:
    with pytest.raises(UnsupportedOpsError, match="live dropout"):
        run_family({"f": lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)}, (Q,))


class _Wrapped(nn.Module):
    """A layer whose inputs are computed, as they are behind an embedding."""

    def __init__(self, layer: nn.Module, **options: Any) -> None:
        super().__init__()
        self.layer, self.options = layer, options

    def forward(self, x: torch.Tensor) -> Any:
        x = x * 2
        inputs = (x, x, x) if isinstance(self.layer, nn.MultiheadAttention | nn.Transformer) else (x,)
        return self.layer(*inputs, **self.options)


X = torch.randn(3, 5, 8)
LAYERS: dict[str, nn.Module] = {
    "heads": _Wrapped(nn.MultiheadAttention(8, 2, batch_first=True)),
    "heads_without_weights": _Wrapped(nn.MultiheadAttention(8, 2, batch_first=True), need_weights=False),
    "encoder": _Wrapped(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)),
    "gru": _Wrapped(nn.GRU(8, 6, batch_first=True)),
    "gru_time_first": _Wrapped(nn.GRU(8, 6)),
    "gru_deep": _Wrapped(nn.GRU(8, 6, num_layers=2, bidirectional=True, batch_first=True)),
    "gru_without_bias": _Wrapped(nn.GRU(8, 6, bias=False, batch_first=True)),
    "lstm": _Wrapped(nn.LSTM(8, 6, batch_first=True)),
    "lstm_deep": _Wrapped(nn.LSTM(8, 6, num_layers=2, bidirectional=True)),
    "rnn": _Wrapped(nn.RNN(8, 6, batch_first=True)),
    "rnn_relu": _Wrapped(nn.RNN(8, 6, nonlinearity="relu")),
}


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_equal_eager(name: str, core: bool) -> None:
    layer = LAYERS[name].eval()
    program = torch.export.export(layer, (X,))
    imported = import_program(program.run_decompositions() if core else program)
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, (X,), {}), layer(X))


def test_a_recurrent_layer_with_projections_is_refused() -> None:
    layer = _Wrapped(nn.LSTM(8, 6, proj_size=2, batch_first=True)).eval()
    with pytest.raises(UnsupportedOpsError, match="with projections"):
        import_program(torch.export.export(layer, (X,)))
