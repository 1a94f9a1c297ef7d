"""The work that is measured: the plain DLRM of given sizes, its hand-made rewrite, and inputs for both.

Shapes: dense [B, dense]; for each of num_cat tables ids [B * bag] and offsets [B], int64; scores [B, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn

from dlrmc.errors import OptionError

Inputs = tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]


@dataclass(frozen=True)
class Cell:
    """Sizes of one plain DLRM and its request.

    Args:
        num_cat: tables, each with one bag a sample.
        batch: samples of a request.
        dim: width of a table's rows, and of the bottom MLP's last layer.
        bag: ids a bag.
        rows: rows of each table.
        dense: dense features a sample.
        bottom: widths of the bottom MLP between `dense` and `dim`.
        top: widths of the top MLP after the interaction; the last is the number of scores.

    Raises:
        OptionError: a size is below one, or there are no top layers.
    """

    num_cat: int
    batch: int
    dim: int = 16
    bag: int = 2
    rows: int = 4096
    dense: int = 3
    bottom: tuple[int, ...] = (64,)
    top: tuple[int, ...] = (64, 32, 1)

    def __post_init__(self) -> None:
        sizes = (self.num_cat, self.batch, self.dim, self.bag, self.rows, self.dense, *self.bottom, *self.top)
        if min(sizes) < 1 or not self.top:
            raise OptionError(f"workload {self}", found="a size below one", expected="sizes of one and more")

    @property
    def features(self) -> int:
        """Vectors of a sample that are multiplied with each other: the dense one and one a table."""
        return self.num_cat + 1

    @property
    def interaction(self) -> int:
        """Width of what the top MLP reads."""
        return self.features * (self.features - 1) // 2 + self.dim

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one request in MLPs and pair products."""
        layers = [*pairwise((self.dense, *self.bottom, self.dim)), *pairwise((self.interaction, *self.top))]
        pairs = (self.interaction - self.dim) * self.dim
        return self.batch * (pairs + sum(n_in * n_out for n_in, n_out in layers))

    @property
    def least_bytes(self) -> int:
        """Bytes that one request must read and write at least: inputs, rows, layers and scores, each once."""
        return self._request_bytes(min(self.rows, self.batch * self.bag))

    @property
    def named_bytes(self) -> int:
        """As `least_bytes`, but with a row for each id that names it, as bags add them up."""
        return self._request_bytes(self.batch * self.bag)

    def _request_bytes(self, rows_of_table: int) -> int:
        layers = [*pairwise((self.dense, *self.bottom, self.dim)), *pairwise((self.interaction, *self.top))]
        weights = sum((n_in + 1) * n_out for n_in, n_out in layers)
        rows = self.num_cat * rows_of_table * self.dim
        indices = self.batch * self.num_cat * (self.bag + 1)
        return 4 * (weights + rows + self.batch * (self.dense + self.top[-1])) + 8 * indices

    @property
    def table_bytes(self) -> int:
        """Bytes of all tables."""
        return self.num_cat * self.rows * self.dim * 4


class PlainDlrm(nn.Module):
    """Bottom MLP, one EmbeddingBag a table, strict lower triangle of the pair products, top MLP.

    As users write it: nothing is stacked, packed or fused.
    """

    li: torch.Tensor
    lj: torch.Tensor

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell
        bags = [nn.EmbeddingBag(cell.rows, cell.dim, mode="sum") for _ in range(cell.num_cat)]
        self.emb = nn.ModuleList(bags)
        self.bot = _mlp((cell.dense, *cell.bottom, cell.dim), nn.ReLU)
        self.top = _mlp((cell.interaction, *cell.top), nn.Sigmoid)
        _hold_pairs(self, cell.features)

    def forward(
        self, dense: torch.Tensor, offsets: list[torch.Tensor], indices: list[torch.Tensor]
    ) -> torch.Tensor:
        """Scores [B, last of top]."""
        x = self.bot(dense)
        bags = [bag(indices[k], offsets[k]) for k, bag in enumerate(self.emb)]
        features = torch.cat([x.unsqueeze(1)] + [bag.unsqueeze(1) for bag in bags], 1)
        dots = torch.bmm(features, features.transpose(1, 2))[:, self.li, self.lj]
        return self.top(torch.cat([x, dots], 1))


class StackedDlrm(nn.Module):
    """The rewrite that a user can make by hand: one table, ids offset and packed beforehand, no offsets.

    It shares the MLPs of the plain model and holds a copy of its tables. ids [B, num_cat, bag] count rows of
    the stacked table; every bag has the same length.
    """

    li: torch.Tensor
    lj: torch.Tensor

    def __init__(self, plain: PlainDlrm) -> None:
        super().__init__()
        self.bot, self.top = plain.bot, plain.top
        self.table = nn.Parameter(torch.cat([_weight(bag) for bag in plain.emb]), requires_grad=False)
        _hold_pairs(self, plain.cell.features)

    def forward(self, dense: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Scores [B, last of top]."""
        x = self.bot(dense)
        bags = nn.functional.embedding(ids, self.table).sum(2)
        features = torch.cat([x.unsqueeze(1), bags], 1)
        dots = torch.bmm(features, features.transpose(1, 2))[:, self.li, self.lj]
        return self.top(torch.cat([x, dots], 1))


def build_model(cell: Cell, device: torch.device, seed: int = 0) -> PlainDlrm:
    """The plain model with weights that the seed and the kind of device decide, in evaluation mode."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), device:
        torch.manual_seed(seed)
        return PlainDlrm(cell).eval().requires_grad_(requires_grad=False)


def seed_inputs(cell: Cell) -> Inputs:
    """The inputs of the seed sweep, on the CPU: dense by linspace, ids by a stride of their own a table."""
    dense = torch.linspace(-1, 1, cell.batch * cell.dense).reshape(cell.batch, cell.dense)
    steps = torch.arange(cell.batch * cell.bag)
    ids = [(steps * (2 * k + 3) + k + 1) % cell.rows for k in range(cell.num_cat)]
    return dense, _offsets(cell), ids


def random_inputs(cell: Cell, seed: int = 1) -> Inputs:
    """Normal dense features and uniform ids, on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(cell.batch, cell.dense, generator=generator)
    size = (cell.batch * cell.bag,)
    ids = [torch.randint(cell.rows, size, generator=generator) for _ in range(cell.num_cat)]
    return dense, _offsets(cell), ids


def packed_ids(cell: Cell, ids: Sequence[torch.Tensor]) -> torch.Tensor:
    """The ids of all tables as `StackedDlrm` reads them: [B, num_cat, bag], contiguous."""
    shifted = [each.view(cell.batch, cell.bag) + k * cell.rows for k, each in enumerate(ids)]
    return torch.stack(shifted, 1).contiguous()


def _offsets(cell: Cell) -> list[torch.Tensor]:
    return [torch.arange(0, cell.batch * cell.bag, cell.bag) for _ in range(cell.num_cat)]


def _mlp(widths: Sequence[int], last: type[nn.Module]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for position, (n_in, n_out) in enumerate(pairwise(widths)):
        layers += [nn.Linear(n_in, n_out), last() if position == len(widths) - 2 else nn.ReLU()]
    return nn.Sequential(*layers)


def _hold_pairs(module: nn.Module, features: int) -> None:
    """The pair table, beside the module's parameters: a CPU one would be copied in every call."""
    device = next(module.parameters()).device
    li, lj = torch.tril_indices(features, features, -1, device=device)
    module.register_buffer("li", li.clone(), persistent=False)
    module.register_buffer("lj", lj.clone(), persistent=False)


def _weight(bag: nn.Module) -> torch.Tensor:
    if not isinstance(bag, nn.EmbeddingBag):
        raise TypeError(f"a table is a {type(bag).__name__}")
    return bag.weight.detach()
