"""The scores of the plain model in float64 on the CPU, written without the model's own forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from dlrmc.bench.workload import Inputs, PlainDlrm

Activation = Callable[[torch.Tensor], torch.Tensor]


def exact_scores(model: PlainDlrm, inputs: Inputs, samples: int) -> torch.Tensor:
    """Scores [S, last of top] in float64 of the first samples of a request.

    Only the table rows that are read leave the device.

    Args:
        model: on any device.
        inputs: on the CPU.
        samples: how many samples; all where the batch has fewer.
    """
    dense, offsets, ids = inputs
    count = min(samples, dense.shape[0])
    x = _layers(model.bot, dense[:count].double(), torch.relu)
    tables = [bag.weight for bag in model.emb if isinstance(bag, nn.EmbeddingBag)]
    bags = [_bags(*each, count) for each in zip(tables, offsets, ids, strict=True)]
    features = torch.stack([x, *bags], 1)
    pairs = [(features[:, i] * features[:, :i].permute(1, 0, 2)).sum(-1).T for i in range(1, len(bags) + 1)]
    return _layers(model.top, torch.cat([x, *pairs], 1), torch.sigmoid)


def _bags(table: torch.Tensor, offsets: torch.Tensor, ids: torch.Tensor, count: int) -> torch.Tensor:
    ends = torch.cat([offsets[1:], torch.tensor([len(ids)])])
    lengths = (ends - offsets)[:count]
    first, last = int(offsets[0]), int(ends[count - 1])
    rows = table[ids[first:last].to(table.device)].cpu().double()
    numbers = torch.repeat_interleave(torch.arange(count), lengths)
    return torch.zeros(count, rows.shape[1], dtype=torch.float64).index_add_(0, numbers, rows)


def _layers(mlp: nn.Sequential, x: torch.Tensor, last: Activation) -> torch.Tensor:
    linears: Sequence[nn.Linear] = [layer for layer in mlp if isinstance(layer, nn.Linear)]
    for position, layer in enumerate(linears):
        x = x @ layer.weight.cpu().double().T + layer.bias.cpu().double()
        x = last(x) if position == len(linears) - 1 else torch.relu(x)
    return x
