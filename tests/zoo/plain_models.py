"""The plain DLRM in every variant that its public implementation has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.models.plain import PlainConfig, StackedTableDlrm, build, example_inputs, mlp, pair_table
from tests.zoo.model import Example, Maker, Sizes, ZooModel

TABLES, ROWS, DIM, DENSE, BAG = 4, 60, 8, 5, 3


class QuotientRemainderBag(nn.Module):
    """Two small tables whose rows are multiplied, added or concatenated: ids [B * bag], offsets [B].

    The quotient is taken in float32, as the public implementation does.
    """

    def __init__(self, rows: int, collisions: int, dim: int, operation: str) -> None:
        super().__init__()
        self.collisions, self.operation = collisions, operation
        width = dim // 2 if operation == "concat" else dim
        self.quotients = nn.Parameter(torch.randn(-(-rows // collisions), width))
        self.remainders = nn.Parameter(torch.randn(collisions, width))

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        quotients = (ids / self.collisions).long()
        remainders = torch.remainder(ids, self.collisions).long()
        of_quotients = F.embedding_bag(quotients, self.quotients, offsets, mode="sum")
        of_remainders = F.embedding_bag(remainders, self.remainders, offsets, mode="sum")
        if self.operation == "concat":
            return torch.cat((of_quotients, of_remainders), dim=1)
        return of_quotients + of_remainders if self.operation == "add" else of_quotients * of_remainders


class ProjectedBag(nn.Module):
    """A narrow table, projected to the common width."""

    def __init__(self, rows: int, width: int, dim: int) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(rows, width, mode="sum")
        self.projection = nn.Linear(width, dim, bias=False) if width != dim else nn.Identity()

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.projection(self.bag(ids, offsets))


class WeightedBag(nn.Module):
    """A table whose rows have a weight each, fixed or learned."""

    def __init__(self, rows: int, dim: int, *, is_learned: bool) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(rows, dim, mode="sum")
        self.weight = nn.Parameter(torch.rand(rows), requires_grad=is_learned)

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.bag(ids, offsets, per_sample_weights=self.weight.gather(0, ids))


class QuantisedBag(nn.Module):
    """A table of bytes or nibbles, each row with a scale and a bias of its own."""

    def __init__(self, rows: int, dim: int, bits: str) -> None:
        super().__init__()
        self.lookup = getattr(torch.ops.quantized, f"embedding_bag_{bits}_rowwise_offsets")
        pack = getattr(torch.ops.quantized, f"embedding_bag_{bits}_prepack")
        self.register_buffer("table", pack(torch.randn(rows, dim)))

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.lookup(self.table, ids, offsets, mode=0)


class BagDlrm(nn.Module):
    """Bottom MLP, any kind of bag a table, dots of pairs, top MLP: dense [B, dense], ids and offsets."""

    def __init__(self, bags: list[nn.Module]) -> None:
        super().__init__()
        self.bags = nn.ModuleList(bags)
        self.bottom = mlp((DENSE, 16, DIM), nn.ReLU)
        self.rows, self.columns = pair_table(PlainConfig(num_cat=len(bags)))
        self.top = mlp((DIM + len(self.rows), 16, 1), nn.Sigmoid)

    def forward(
        self, dense: torch.Tensor, offsets: list[torch.Tensor], ids: list[torch.Tensor]
    ) -> torch.Tensor:
        x = self.bottom(dense)
        rows = [bag(i, o) for bag, i, o in zip(self.bags, ids, offsets, strict=True)]
        features = torch.cat([x, *rows], dim=1).view(x.shape[0], -1, DIM)
        dots = torch.bmm(features, torch.transpose(features, 1, 2))
        return self.top(torch.cat([x, dots[:, self.rows, self.columns]], dim=1))


def _inputs(batch: int, dtype: torch.dtype = torch.int64) -> tuple[Any, ...]:
    config = PlainConfig(num_cat=TABLES, rows=ROWS, dim=DIM, dense_width=DENSE)
    return example_inputs(config, batch, BAG, id_dtype=dtype)[0]


def _bags(make: Callable[[int], nn.Module]) -> Maker:
    return lambda batch, sizes: Example(BagDlrm([make(table) for table in range(TABLES)]), _inputs(batch))


def _plain(id_dtype: torch.dtype = torch.int64, **options: Any) -> Maker:
    """The configurable model of the other tests."""

    def make(batch: int, sizes: Sizes) -> Example:
        config = PlainConfig(num_cat=TABLES, rows=ROWS, dim=DIM, dense_width=DENSE, **options)
        args, kwargs = example_inputs(config, batch, BAG, id_dtype=id_dtype)
        return Example(build(config), args, kwargs)

    return make


def _stacked_table(batch: int, sizes: Sizes) -> Example:
    config = PlainConfig(num_cat=TABLES, rows=ROWS, dim=DIM, dense_width=DENSE)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, TABLES * ROWS, (batch * TABLES * 2,), generator=generator)
    return Example(StackedTableDlrm(config), (torch.randn(batch, DENSE, generator=generator), ids))


def _many_rows(operation: str) -> Maker:
    """Ids above 2^24, one below a multiple of the divisor, so that float32 gives the next quotient."""
    rows, collisions = 40_000_000, 7001

    def make(batch: int, sizes: Sizes) -> Example:
        bags: list[nn.Module] = [
            QuotientRemainderBag(rows, collisions, DIM, operation) for _ in range(TABLES)
        ]
        dense, offsets, ids = _inputs(batch)
        quotients = [4 * (1300 - 7 * table - torch.arange(len(ids[0])) % 300) for table in range(TABLES)]
        return Example(BagDlrm(bags), (dense, offsets, [q * collisions - 1 for q in quotients]))

    return make


def _shared_table(batch: int, sizes: Sizes) -> Example:
    bag = nn.EmbeddingBag(ROWS, DIM, mode="sum")
    return Example(
        BagDlrm([bag if table % 2 else nn.EmbeddingBag(ROWS, DIM, mode="mean") for table in range(TABLES)]),
        _inputs(batch),
    )


_MAKERS: tuple[tuple[str, Maker], ...] = (
    ("dot", _plain()),
    ("dot with the diagonal", _plain(interaction="dot_diag")),
    ("dot, upper triangle", _plain(interaction="upper")),
    ("cat", _plain(interaction="cat")),
    ("features stacked", _plain(join="stack")),
    ("features viewed", _plain(join="view")),
    ("pairs in buffers", _plain(index_form="buffer")),
    ("pairs in lists", _plain(index_form="mask_list")),
    ("mean bags", _plain(mode="mean")),
    ("max bags", _plain(mode="max")),
    ("inputs stacked", _plain(inputs="stacked")),
    ("inputs in dicts", _plain(inputs="dict")),
    ("int32 ids", _plain(torch.int32)),
    ("one stacked table", _stacked_table),
    ("fixed weights", _bags(lambda table: WeightedBag(ROWS, DIM, is_learned=False))),
    ("learned weights", _bags(lambda table: WeightedBag(ROWS, DIM, is_learned=True))),
    ("quotient-remainder, multiplied", _bags(lambda table: QuotientRemainderBag(ROWS, 4, DIM, "mult"))),
    ("quotient-remainder, added", _bags(lambda table: QuotientRemainderBag(ROWS, 4, DIM, "add"))),
    ("quotient-remainder, concatenated", _bags(lambda table: QuotientRemainderBag(ROWS, 4, DIM, "concat"))),
    ("quotient-remainder of many rows, multiplied", _many_rows("mult")),
    ("quotient-remainder of many rows, added", _many_rows("add")),
    ("one table for two features", _shared_table),
    ("bytes", _bags(lambda table: QuantisedBag(ROWS, DIM, "byte"))),
    ("nibbles", _bags(lambda table: QuantisedBag(ROWS, DIM, "4bit"))),
    ("mixed widths", _bags(lambda table: ProjectedBag(ROWS, (2, 4, 8, 8)[table], DIM))),
)

MODELS: tuple[ZooModel, ...] = tuple(ZooModel("", name, maker, "DLRM") for name, maker in _MAKERS)
