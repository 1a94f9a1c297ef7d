"""Recommenders whose tables differ in rows and in ids a bag: DLRM-DCNv2 and the RMC classes.

Shapes: dense [B, dense]; for each table ids [B * bag of the table] and offsets [B], int64; scores [B, 1].
Tables are made where they stay, once: the full DLRM-DCNv2 holds 97.4 GiB of them.

Sources: MLPerf training `recommendation_v2` (DLRM-DCNv2, multi-hot sizes and rows; the cross layers are
torchrec's LowRankCrossNet); U. Gupta et al., "The Architectural Implications of Facebook's DNN-based
Personalized Recommendation" (HPCA 2020) and "DeepRecSys" (ISCA 2020) for the RMC classes.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Final

import torch
from torch import nn

from dlrmc.bench.workload import Inputs
from dlrmc.errors import OptionError

_CROSS_LAYERS: Final = 3


@dataclass(frozen=True)
class MultiHotCell:
    """Sizes of one model and its request.

    Args:
        rows: of each table.
        bags: ids of a bag of each table.
        batch: samples of a request.
        dim: width of all tables.
        dense: dense features a sample.
        bottom: widths of the bottom MLP after `dense`, ReLU after each.
        top: widths of the top MLP after the interaction, ReLU between, the last through a sigmoid.
        cross_rank: rank of the cross layers over dense part and bags; 0 for none, a plain concatenation.

    Raises:
        OptionError: a size is below one, or the tables' lists differ in length.
    """

    rows: tuple[int, ...]
    bags: tuple[int, ...]
    batch: int
    dim: int
    dense: int
    bottom: tuple[int, ...]
    top: tuple[int, ...]
    cross_rank: int = 0

    def __post_init__(self) -> None:
        sizes = (*self.rows, *self.bags, self.batch, self.dim, self.dense, *self.bottom, *self.top)
        if len(self.rows) != len(self.bags) or min(sizes) < 1 or not self.bottom or not self.top:
            raise OptionError(
                f"workload {self}",
                found="a size below one, no layers, or rows and bags of different numbers of tables",
                expected="sizes of one and more",
            )

    @property
    def interaction(self) -> int:
        """Width of what the cross layers and the top MLP read."""
        return self.bottom[-1] + len(self.rows) * self.dim

    @property
    def table_bytes(self) -> int:
        """Bytes of all tables in float32."""
        return sum(self.rows) * self.dim * 4

    @property
    def gathered_bytes(self) -> int:
        """Bytes of the rows that one request reads, each id counted."""
        return sum(self.bags) * self.batch * self.dim * 4

    def scaled(self, scale: float) -> MultiHotCell:
        """The same with so many times the rows, at least one a table."""
        return dataclasses.replace(self, rows=tuple(max(1, round(rows * scale)) for rows in self.rows))


def _rmc(tables: int, rows: int, dim: int, bag: int, layers: tuple[tuple[int, ...], ...]) -> MultiHotCell:
    (dense, *bottom), top = layers
    return MultiHotCell((rows,) * tables, (bag,) * tables, 2048, dim, dense, tuple(bottom), top)


_M: Final = 1_000_000
# fmt: off
MULTI_HOT_PRESETS: Final[Mapping[str, MultiHotCell]] = MappingProxyType(
    {
        "dcnv2": MultiHotCell(
            rows=(40 * _M, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40 * _M, 3067956, 405282, 10,
                  2209, 11938, 155, 4, 976, 14, 40 * _M, 40 * _M, 40 * _M, 590152, 12973, 108, 36),
            bags=(3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1),
            batch=2048,
            dim=128,
            dense=13,
            bottom=(512, 256, 128),
            top=(1024, 1024, 512, 256, 1),
            cross_rank=512,
        ),
        "rmc1": _rmc(8, 4 * _M, 32, 80, ((128, 64, 32), (256, 64, 1))),
        "rmc2": _rmc(32, _M // 2, 64, 120, ((256, 128, 64), (128, 64, 1))),
        "rmc3": _rmc(10, 2 * _M, 32, 20, ((2560, 1024, 256, 32), (512, 256, 1))),
    }
)
# fmt: on


class CrossLayers(nn.Module):
    """x <- x0 * (U V x + b) + x, layer by layer."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.down = nn.ModuleList(nn.Linear(width, rank, bias=False) for _ in range(_CROSS_LAYERS))
        self.up = nn.ModuleList(nn.Linear(rank, width) for _ in range(_CROSS_LAYERS))

    def forward(self, x0: torch.Tensor) -> torch.Tensor:
        """[B, width] to [B, width]."""
        x = x0
        for down, up in zip(self.down, self.up, strict=True):
            x = x0 * up(down(x)) + x
        return x


class DenseNetwork(nn.Module):
    """All but the tables: the bottom MLP, the interaction with the bags, the top MLP."""

    def __init__(self, cell: MultiHotCell) -> None:
        super().__init__()
        self.bottom = _mlp((cell.dense, *cell.bottom), nn.ReLU)
        self.cross = CrossLayers(cell.interaction, cell.cross_rank) if cell.cross_rank else nn.Identity()
        self.top = _mlp((cell.interaction, *cell.top), nn.Sigmoid)

    def forward(self, dense: torch.Tensor, bags: list[torch.Tensor]) -> torch.Tensor:
        """Scores of [B, dense] and a [B, dim] for each table."""
        return self.top(self.cross(torch.cat([self.bottom(dense), *bags], 1)))


class MultiHotModel(nn.Module):
    """One EmbeddingBag a table, then the dense network."""

    def __init__(self, cell: MultiHotCell, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.cell = cell
        self.tables = nn.ModuleList(
            _table(*size, cell.dim, dtype) for size in zip(cell.rows, cell.bags, strict=True)
        )
        self.network = DenseNetwork(cell)

    def forward(
        self, dense: torch.Tensor, offsets: list[torch.Tensor], ids: list[torch.Tensor]
    ) -> torch.Tensor:
        """Scores [B, 1]."""
        bags = [bag(ids[k], offsets[k]).float() for k, bag in enumerate(self.tables)]
        return self.network(dense, bags)


def build_multi_hot(
    cell: MultiHotCell, device: torch.device, seed: int = 0, dtype: torch.dtype = torch.float32
) -> MultiHotModel:
    """The model in evaluation mode, its tables (of `dtype`) made on the device and nowhere else."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), device:
        torch.manual_seed(seed)
        return MultiHotModel(cell, dtype).eval().requires_grad_(requires_grad=False)


def multi_hot_inputs(cell: MultiHotCell, seed: int = 1, *, last_rows: int = 0) -> Inputs:
    """Normal dense features and uniform ids, on the CPU.

    Args:
        cell: the sizes.
        seed: of all numbers.
        last_rows: ids are of so many last rows of each table; 0 for all rows.
    """
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(cell.batch, cell.dense, generator=generator)
    offsets = [torch.arange(0, cell.batch * bag, bag) for bag in cell.bags]
    ids: list[torch.Tensor] = []
    for rows, bag in zip(cell.rows, cell.bags, strict=True):
        first = max(0, rows - last_rows) if last_rows else 0
        ids.append(torch.randint(first, rows, (cell.batch * bag,), generator=generator))
    return dense, offsets, ids


def exact_multi_hot_scores(model: MultiHotModel, inputs: Inputs, samples: int) -> torch.Tensor:
    """Scores [S, 1] in float64 of the first samples of a request, computed on the model's device.

    Only the table rows that are read are copied.
    """
    dense, _, ids = inputs
    cell, count = model.cell, min(samples, dense.shape[0])
    device = next(model.parameters()).device
    bags = [
        _weight(table)[each.view(cell.batch, bag)[:count].to(device)].double().sum(1)
        for table, each, bag in zip(model.tables, ids, cell.bags, strict=True)
    ]
    network = copy.deepcopy(model.network).double()
    return network(dense[:count].to(device).double(), bags).cpu()


def _table(rows: int, bag: int, dim: int, dtype: torch.dtype) -> nn.EmbeddingBag:
    """A table whose bags have the same spread whatever their length, so that every id counts in a score."""
    weight = torch.empty(rows, dim, dtype=dtype)
    nn.init.uniform_(weight, -(bag**-0.5), bag**-0.5)
    return nn.EmbeddingBag(rows, dim, mode="sum", _weight=weight)


def _mlp(widths: Sequence[int], last: type[nn.Module]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for position, (n_in, n_out) in enumerate(pairwise(widths)):
        layers += [nn.Linear(n_in, n_out), last() if position == len(widths) - 2 else nn.ReLU()]
    return nn.Sequential(*layers)


def _weight(bag: nn.Module) -> torch.Tensor:
    if not isinstance(bag, nn.EmbeddingBag):
        raise TypeError(f"a table is a {type(bag).__name__}")
    return bag.weight.detach()
