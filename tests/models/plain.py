"""The plain DLRM in the variants that tests need, with inputs and exports.

Shapes: dense [B, dense_width]; for each of num_cat tables ids [B * bag] and offsets [B]; scores [B, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

INTERACTIONS = ("dot", "dot_diag", "upper", "cat")
# How the pair table is held, and how the products are read by it.
INDEX_FORMS = ("attribute", "buffer", "mask_list")
INPUT_FORMS = ("list", "dict", "stacked", "keywords")
FORMS = ("undecomposed", "canon", "core")


@dataclass(frozen=True)
class PlainConfig:
    """Sizes and spellings of a plain DLRM; the defaults are small."""

    num_cat: int = 3
    rows: int = 50
    dim: int = 4
    dense_width: int = 3
    bottom: tuple[int, ...] = (8,)
    top: tuple[int, ...] = (8,)
    interaction: str = "dot"
    index_form: str = "attribute"
    inputs: str = "list"
    join: str = "cat"  # cat of unsqueeze, stack, or cat and view
    mode: str = "sum"
    dtype: torch.dtype = torch.float32

    @property
    def features(self) -> int:
        """Dense and categorical features."""
        return self.num_cat + 1


SEED_CONFIG = PlainConfig(rows=4096, dim=16, bottom=(64,), top=(64, 32))


def pair_table(config: PlainConfig) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and columns of the pairs that the interaction reads."""
    features = config.features
    if config.interaction == "upper":
        pairs = torch.triu_indices(features, features, 1)
    else:
        pairs = torch.tril_indices(features, features, 0 if config.interaction == "dot_diag" else -1)
    return pairs[0].clone(), pairs[1].clone()


def mlp(widths: Sequence[int], last: type[nn.Module]) -> nn.Sequential:
    """Linear and ReLU layers; `last` stands after the last linear."""
    layers: list[nn.Module] = []
    for position, (n_in, n_out) in enumerate(pairwise(widths)):
        layers += [nn.Linear(n_in, n_out), last() if position == len(widths) - 2 else nn.ReLU()]
    return nn.Sequential(*layers)


class PlainDlrm(nn.Module):
    """Bottom MLP, one EmbeddingBag a table, interaction, top MLP with sigmoid."""

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.config = config
        self.emb = nn.ModuleList(
            [nn.EmbeddingBag(config.rows, config.dim, mode=config.mode) for _ in range(config.num_cat)]
        )
        self.bot = mlp((config.dense_width, *config.bottom, config.dim), nn.ReLU)
        li, lj = pair_table(config)
        width = config.features * config.dim if config.interaction == "cat" else config.dim + len(li)
        self.top = mlp((width, *config.top, 1), nn.Sigmoid)
        self._hold_pairs(li, lj)

    def _hold_pairs(self, li: torch.Tensor, lj: torch.Tensor) -> None:
        if self.config.index_form == "buffer":
            self.register_buffer("li", li)
            self.register_buffer("lj", lj, persistent=False)
        elif self.config.index_form == "mask_list":
            self.li, self.lj = li.tolist(), lj.tolist()
        else:
            self.li, self.lj = li, lj

    def forward(self, dense: torch.Tensor, offsets: Any, indices: Any) -> torch.Tensor:
        x = self.bot(dense)
        bags = [bag(indices[k], offsets[k]) for k, bag in zip(_keys(indices), self.emb, strict=True)]
        return self.top(self.interact(x, bags))

    def interact(self, x: torch.Tensor, bags: list[torch.Tensor]) -> torch.Tensor:
        if self.config.interaction == "cat":
            return torch.cat([x, *bags], 1)
        features = self.join(x, bags)
        dots = torch.bmm(features, features.transpose(1, 2))[:, self.li, self.lj]
        return torch.cat([x, dots], 1)

    def join(self, x: torch.Tensor, bags: list[torch.Tensor]) -> torch.Tensor:
        if self.config.join == "stack":
            return torch.stack([x, *bags], 1)
        if self.config.join == "view":
            return torch.cat([x, *bags], 1).view(-1, self.config.features, self.config.dim)
        return torch.cat([x.unsqueeze(1)] + [bag.unsqueeze(1) for bag in bags], 1)


class StackedTableDlrm(nn.Module):
    """The same with one stacked table and ids already offset: index_select, view, sum.

    Shapes: dense [B, dense_width]; indices [B * num_cat * bag].
    """

    def __init__(self, config: PlainConfig, bag: int = 2) -> None:
        super().__init__()
        self.config, self.bag = config, bag
        self.table = nn.Parameter(torch.randn(config.num_cat * config.rows, config.dim))
        self.bot = mlp((config.dense_width, *config.bottom, config.dim), nn.ReLU)
        self.li, self.lj = pair_table(config)
        self.top = mlp((config.dim + len(self.li), *config.top, 1), nn.Sigmoid)

    def forward(self, dense: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        x = self.bot(dense)
        picked = torch.index_select(self.table, 0, indices)
        bags = picked.view(-1, self.config.num_cat, self.bag, self.config.dim).sum(2)
        features = torch.cat([x.unsqueeze(1), bags], 1)
        dots = torch.bmm(features, features.transpose(1, 2))[:, self.li, self.lj]
        return self.top(torch.cat([x, dots], 1))


def _keys(container: Any) -> list[Any]:
    return list(container) if isinstance(container, dict) else list(range(len(container)))


def build(config: PlainConfig = PlainConfig(), seed: int = 0) -> PlainDlrm:
    """The model with fixed weights, in evaluation mode."""
    torch.manual_seed(seed)
    return PlainDlrm(config).eval().to(config.dtype)


def example_inputs(
    config: PlainConfig, batch: int = 2, bag: int = 2, seed: int = 0, id_dtype: torch.dtype = torch.int64
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments, every tensor an object of its own."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(batch, config.dense_width, generator=generator).to(config.dtype)
    ids = [torch.randint(0, config.rows, (batch * bag,), generator=generator) for _ in range(config.num_cat)]
    offsets = [torch.arange(0, batch * bag, bag) for _ in range(config.num_cat)]
    ids, offsets = ([t.to(id_dtype) for t in ts] for ts in (ids, offsets))
    match config.inputs:
        case "dict":
            names = [f"feature_{k}" for k in range(config.num_cat)]
            return (dense, dict(zip(names, offsets, strict=True)), dict(zip(names, ids, strict=True))), {}
        case "stacked":
            return (dense, torch.stack(offsets), torch.stack(ids)), {}
        case "keywords":
            return (dense,), {"offsets": offsets, "indices": ids}
        case _:
            return (dense, offsets, ids), {}


def seed_inputs(config: PlainConfig, batch: int = 2, bag: int = 2) -> tuple[Any, ...]:
    """The inputs of the seed sweep: dense by linspace, ids by a stride of their own for each table."""
    dense = torch.linspace(-1, 1, batch * config.dense_width).reshape(batch, config.dense_width)
    steps = torch.arange(batch * bag)
    ids = [(steps * (2 * k + 3) + k + 1) % config.rows for k in range(config.num_cat)]
    return dense, [torch.arange(0, batch * bag, bag) for _ in ids], ids


def export(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    form: str = "undecomposed",
    dynamic_shapes: Any = None,
) -> ExportedProgram:
    """Export in one of FORMS."""
    program = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)
    if form == "core":
        return program.run_decompositions()
    if form == "canon":
        from dlrmc.frontend.canon import canonicalise

        return canonicalise(program)
    return program
