"""The plain DLRM in `jax.numpy` under `jit`. Bags have one length, so XLA needs no offsets.

Source: JAX documentation, "Asynchronous dispatch" and "GPU memory allocation".
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import Work
from dlrmc.bench.workload import PlainDlrm

_PRECISIONS = (("fp32", "highest"), ("tf32", "tensorfloat32"))


def xla(work: Work) -> Runner:
    """JIT-compiled by XLA; timed by the wall only, since its stream is not torch's."""
    if not isinstance(work.module, PlainDlrm):
        raise TypeError("only the plain DLRM is written for XLA")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs the memory, too
    with work.gpu.released():
        jax: Any = importlib.import_module("jax")
        numpy: Any = importlib.import_module("jax.numpy")
    if work.device.type == "cuda" and jax.default_backend() != "gpu":
        raise RuntimeError(f"JAX computes on its backend {jax.default_backend()!r}; install jax[cuda13]")
    jax.config.update("jax_default_matmul_precision", dict(_PRECISIONS)[work.options.precision])
    model, cell = work.module, work.module.cell
    weights = jax.device_put(weight_arrays(model))
    start = time.perf_counter()
    function = jax.jit(lambda weights, dense, ids: forward(numpy, weights, dense, ids, cell.bag))
    inputs = _Inputs(work, jax)
    inputs.refresh()
    last: list[Any] = [function(weights, inputs.dense, inputs.ids).block_until_ready()]
    compile_s = time.perf_counter() - start

    def call() -> Any:
        last[0] = function(weights, inputs.dense, inputs.ids)
        return last[0]

    def wait() -> None:
        last[0].block_until_ready()

    return Runner(
        call,
        refresh=inputs.refresh,
        read=lambda result: (torch.from_numpy(jax.device_get(result).copy()),),
        synchronize=wait,
        compile_s=compile_s,
    )


class _Inputs:
    """The live inputs as JAX arrays, which nobody can write into."""

    def __init__(self, work: Work, jax: Any) -> None:
        self._work, self._jax = work, jax

    def refresh(self) -> None:
        """Take over the live inputs; ids become int32, JAX's own."""
        dense, _, ids = self._work.args
        self.dense = self._jax.device_put(dense.cpu().numpy())
        self.ids = self._jax.device_put([each.int().cpu().numpy() for each in ids])


def weight_arrays(model: PlainDlrm) -> dict[str, Any]:
    """Tables, and weight and bias of each layer, as NumPy arrays."""
    tables = [bag.weight.cpu().numpy() for bag in model.emb if isinstance(bag, nn.EmbeddingBag)]
    return {"tables": tables, "bottom": _layers(model.bot), "top": _layers(model.top)}


def _layers(mlp: nn.Sequential) -> list[tuple[Any, Any]]:
    linears = [layer for layer in mlp if isinstance(layer, nn.Linear)]
    return [(layer.weight.cpu().numpy(), layer.bias.cpu().numpy()) for layer in linears]


def forward(xp: Any, weights: Any, dense: Any, ids: Sequence[Any], bag: int) -> Any:
    """Scores of the plain DLRM.

    Args:
        xp: `jax.numpy`, or `numpy`.
        weights: of `weight_arrays`.
        dense: [B, dense].
        ids: [B * bag] for each table.
        bag: ids a bag.
    """
    x = dense
    for weight, bias in weights["bottom"]:
        x = xp.maximum(x @ weight.T + bias, 0)
    batch = x.shape[0]
    bags = [
        xp.take(table, each, axis=0).reshape(batch, bag, -1).sum(1)
        for table, each in zip(weights["tables"], ids, strict=True)
    ]
    features = xp.stack([x, *bags], axis=1)
    li, lj = xp.tril_indices(features.shape[1], -1)
    products = xp.matmul(features, xp.swapaxes(features, 1, 2))
    x = xp.concatenate([x, products[:, li, lj]], axis=1)
    *hidden, (weight, bias) = weights["top"]
    for inner, shift in hidden:
        x = xp.maximum(x @ inner.T + shift, 0)
    return 1 / (1 + xp.exp(-(x @ weight.T + bias)))
