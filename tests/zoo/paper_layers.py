"""What the models of papers share: embeddings of fields, MLPs, and requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn

from tests.zoo.model import Example, Maker, Sizes


class Fields(nn.Module):
    """A vector for each field: ids [B, F] to [B, F, D]."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(rows, sizes.width) for rows in sizes.rows])
        self.count = len(sizes.rows)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.stack([table(ids[:, field]) for field, table in enumerate(self.tables)], dim=1)


def mlp(
    widths: Sequence[int], *, activation: Callable[[], nn.Module] = nn.ReLU, norm: bool = False
) -> nn.Module:
    """Linear layers with an activation after each but the last."""
    layers: list[nn.Module] = []
    for number, (n_in, n_out) in enumerate(pairwise(widths)):
        layers.append(nn.Linear(n_in, n_out))
        if number < len(widths) - 2:
            layers += [nn.BatchNorm1d(n_out)] if norm else []
            layers += [activation(), nn.Dropout(0.1)]
    return nn.Sequential(*layers)


def pair_rows(fields: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and columns of all pairs of fields."""
    rows, columns = torch.triu_indices(fields, fields, 1)
    return rows.clone(), columns.clone()


def ids_of(batch: int, sizes: Sizes) -> torch.Tensor:
    """Ids [B, F] below each field's rows."""
    generator = torch.Generator().manual_seed(0)
    return torch.stack([torch.randint(rows, (batch,), generator=generator) for rows in sizes.rows], 1)


def numbers_of(batch: int, sizes: Sizes) -> torch.Tensor:
    """Dense features [B, dense], some below 0."""
    return torch.randn(batch, sizes.dense, generator=torch.Generator().manual_seed(1))


def history_of(batch: int, sizes: Sizes) -> tuple[torch.Tensor, torch.Tensor]:
    """Item ids [B, history], padded with 0 at the end, and the target's [B]."""
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(1, sizes.items, (batch, sizes.history), generator=generator)
    lengths = 1 + torch.arange(batch).unsqueeze(1) % sizes.history
    target = torch.randint(1, sizes.items, (batch,), generator=generator)
    return ids * (torch.arange(sizes.history) < lengths), target


def of_ids(model: Callable[[Sizes], nn.Module]) -> Maker:
    """The example of a model of ids [B, F]."""
    return lambda batch, sizes: Example(model(sizes), (ids_of(batch, sizes),))


def of_ids_and_numbers(model: Callable[[Sizes], nn.Module]) -> Maker:
    """The example of a model of ids [B, F] and numbers [B, dense]."""
    return lambda batch, sizes: Example(model(sizes), (ids_of(batch, sizes), numbers_of(batch, sizes)))


def of_history(model: Callable[[Sizes], nn.Module]) -> Maker:
    """The example of a model of item ids [B, history] and a target [B]."""
    return lambda batch, sizes: Example(model(sizes), history_of(batch, sizes))
