"""Models whose fused kernels are examined by NVIDIA's tools: each is compiled and scored a few times.

python -m benchmarks.kernel_models dlrm-32x2048 --calls 3
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

import dlrmc
from dlrmc.bench.presets import PRESETS
from dlrmc.bench.workload import Cell, build_model, random_inputs

Call = tuple[nn.Module, tuple[Any, ...]]


@dataclass(frozen=True)
class Example:
    """A model with its arguments, and the precision that it is compiled for."""

    make: Callable[[torch.device], Call]
    precision: str = "fp32"


class CrossNetwork(nn.Module):
    """DCN v2: full-rank cross layers over dense features and bags, then a linear (arXiv 2008.13535)."""

    def __init__(self, tables: int, rows: int, dim: int, dense: int, layers: int = 3) -> None:
        super().__init__()
        width = tables * dim + dense
        self.emb = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="mean") for _ in range(tables))
        self.cross = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.head = nn.Linear(width, 1)

    def forward(
        self, dense: torch.Tensor, offsets: list[torch.Tensor], ids: list[torch.Tensor]
    ) -> torch.Tensor:
        bags = [bag(*each) for bag, each in zip(self.emb, zip(ids, offsets, strict=True), strict=True)]
        first = x = torch.cat([dense, *bags], 1)
        for layer in self.cross:
            x = first * layer(x) + x
        return torch.sigmoid(self.head(x))


def plain(cell: Cell, precision: str = "fp32", *, is_ragged: bool = False) -> Example:
    """The plain DLRM with random ids; ragged bags have 0 to 2 * bag ids."""

    def make(device: torch.device) -> Call:
        inputs = ragged_inputs(cell) if is_ragged else random_inputs(cell)
        return build_model(cell, device), inputs

    return Example(make, precision)


def cross(batch: int) -> Example:
    """The cross network with ragged bags."""

    def make(device: torch.device) -> Call:
        cell = Cell(6, batch, rows=500)
        with device:
            torch.manual_seed(0)
            model = CrossNetwork(cell.num_cat, cell.rows, cell.dim, cell.dense).eval()
        return model.requires_grad_(requires_grad=False), ragged_inputs(cell)

    return Example(make)


def ragged_inputs(cell: Cell) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    """Random inputs whose bags have different lengths, empty ones among them."""
    generator = torch.Generator().manual_seed(1)
    dense = torch.randn(cell.batch, cell.dense, generator=generator)
    lengths = [
        torch.randint(2 * cell.bag + 1, (cell.batch,), generator=generator) for _ in range(cell.num_cat)
    ]
    ids = [torch.randint(cell.rows, (int(each.sum()),), generator=generator) for each in lengths]
    return dense, [torch.cumsum(each, 0) - each for each in lengths], ids


def preset(name: str, batch: int, precision: str = "fp32") -> Example:
    """A real model's layers over small tables."""
    return plain(dataclasses.replace(PRESETS[name], batch=batch, rows=1000), precision)


EXAMPLES = {
    "dlrm-2x2": plain(Cell(2, 2)),
    "dlrm-8x64": plain(Cell(8, 64)),
    "dlrm-8x67-ragged": plain(Cell(8, 67, bag=3), is_ragged=True),
    "dlrm-32x130": plain(Cell(32, 130)),
    "dlrm-32x130-tf32": plain(Cell(32, 130), "tf32"),
    "cross-77": cross(77),
    "kaggle-128": preset("kaggle", 128),
    "mlperf-64": preset("mlperf", 64),
    "mlperf-64-tf32": preset("mlperf", 64, "tf32"),
    "dlrm-16x2048": plain(Cell(16, 2048)),
    "dlrm-32x1024": plain(Cell(32, 1024)),
    "dlrm-32x2048": plain(Cell(32, 2048)),
    "mlperf-2048": preset("mlperf", 2048),
    "mlperf-2048-tf32": preset("mlperf", 2048, "tf32"),
}


def main() -> None:
    """Compile one example, score it, and say how far it is from eager."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=EXAMPLES)
    parser.add_argument("--calls", type=int, default=2)
    given = parser.parse_args()
    example = EXAMPLES[given.name]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model, arguments = example.make(device)
    arguments = torch.utils._pytree.tree_map(lambda tensor: tensor.to(device), arguments)
    with torch.no_grad():
        compiled = dlrmc.compile(torch.export.export(model, arguments), precision=example.precision)
        for _ in range(given.calls):
            scores = compiled(*arguments)
        error = (scores - model(*arguments)).abs().max().item()
    print(f"{given.name}: largest difference from eager {error:.2g}")


if __name__ == "__main__":
    main()
