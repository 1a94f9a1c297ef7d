"""The scores of the plain model in float64 on the CPU, written without the model's own forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

from dlrmc.bench.workload import Inputs, PlainDlrm

Activation = Callable[[torch.Tensor], torch.Tensor]


def exact_scores(
    model: PlainDlrm,
    inputs: Inputs,
    samples: int,
    computing: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> torch.Tensor:
    """Scores [S, last of top] in float64 of the first samples of a request.

    Only the table rows that are read leave the device.

    Args:
        model: on any device.
        inputs: on the CPU.
        samples: how many samples; all where the batch has fewer.
        computing: entered when the device is not needed any more.
    """
    dense, offsets, ids = inputs
    count = min(samples, dense.shape[0])
    tables = [bag.weight for bag in model.emb if isinstance(bag, nn.EmbeddingBag)]
    bags = [_read_bags(*each, count) for each in zip(tables, offsets, ids, strict=True)]
    bottom, top = _read_layers(model.bot), _read_layers(model.top)
    with computing():
        x = _layers(bottom, dense[:count].double(), torch.relu)
        features = torch.stack([x, *(_sums(*bag, count) for bag in bags)], 1)
        pairs = [
            (features[:, i] * features[:, :i].permute(1, 0, 2)).sum(-1).T for i in range(1, len(bags) + 1)
        ]
        return _layers(top, torch.cat([x, *pairs], 1), torch.sigmoid)


def _read_bags(
    table: torch.Tensor, offsets: torch.Tensor, ids: torch.Tensor, count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of all bags, on the CPU, and the length of each bag."""
    ends = torch.cat([offsets[1:], torch.tensor([len(ids)])])
    first, last = int(offsets[0]), int(ends[count - 1])
    return table[ids[first:last].to(table.device)].cpu(), (ends - offsets)[:count]


def _read_layers(mlp: nn.Sequential) -> list[tuple[torch.Tensor, torch.Tensor]]:
    linears: Sequence[nn.Linear] = [layer for layer in mlp if isinstance(layer, nn.Linear)]
    return [(layer.weight.cpu(), layer.bias.cpu()) for layer in linears]


def _sums(rows: torch.Tensor, lengths: torch.Tensor, count: int) -> torch.Tensor:
    numbers = torch.repeat_interleave(torch.arange(count), lengths)
    zeros = torch.zeros(count, rows.shape[1], dtype=torch.float64)
    return zeros.index_add_(0, numbers, rows.double())


def _layers(
    layers: Sequence[tuple[torch.Tensor, torch.Tensor]], x: torch.Tensor, last: Activation
) -> torch.Tensor:
    for position, (weight, bias) in enumerate(layers):
        x = x @ weight.double().T + bias.double()
        x = last(x) if position == len(layers) - 1 else torch.relu(x)
    return x
