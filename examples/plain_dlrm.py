"""Export a plain DLRM from PyTorch, compile it, and look at what the compiler made of it.

python examples/plain_dlrm.py [--tables 3] [--batch 8] [--target emulate]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from torch import nn

import dlrmc

ROWS = 4096
WIDTH = 16
DENSE = 3
IDS_PER_BAG = 2


class PlainDLRM(nn.Module):
    """Bottom MLP, one embedding bag a table, dot products of all pairs of features, top MLP with a sigmoid.

    Args:
        tables: how many categorical features; each has ROWS rows of WIDTH floats.
    """

    pair_row: torch.Tensor
    pair_column: torch.Tensor

    def __init__(self, tables: int) -> None:
        super().__init__()
        features = tables + 1
        pairs = features * (features - 1) // 2
        self.bottom = nn.Sequential(nn.Linear(DENSE, 64), nn.ReLU(), nn.Linear(64, WIDTH), nn.ReLU())
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, WIDTH, mode="sum") for _ in range(tables))
        self.top = nn.Sequential(
            nn.Linear(pairs + WIDTH, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
            nn.Sigmoid(),
        )
        self.register_buffer("pair_row", torch.tensor([i for i in range(features) for _ in range(i)]))
        self.register_buffer("pair_column", torch.tensor([j for i in range(features) for j in range(i)]))

    def forward(
        self, dense: torch.Tensor, offsets: list[torch.Tensor], indices: list[torch.Tensor]
    ) -> torch.Tensor:
        """Scores [B,1] of dense [B,3] and, for each table, offsets [B] into ids of any length."""
        x = self.bottom(dense)
        bags = [table(ids, starts) for table, ids, starts in zip(self.tables, indices, offsets, strict=True)]
        features = torch.cat([x.unsqueeze(1)] + [bag.unsqueeze(1) for bag in bags], dim=1)
        gram = torch.bmm(features, features.transpose(1, 2))
        pairs = gram[:, self.pair_row, self.pair_column]
        return self.top(torch.cat([x, pairs], dim=1))


def make_inputs(tables: int, batch: int) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    """Dense values, offsets and ids of one request of `batch` rows."""
    dense = torch.linspace(-1, 1, batch * DENSE).reshape(batch, DENSE)
    counter = torch.arange(batch * IDS_PER_BAG)
    indices = [(counter * (2 * k + 3) + k + 1) % ROWS for k in range(tables)]
    offsets = [torch.arange(0, batch * IDS_PER_BAG, IDS_PER_BAG) for _ in range(tables)]
    return dense, offsets, indices


def main() -> None:
    """Compile the model and print the report, the scores and the largest difference from eager."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--target", default=None, help="cuda, emulate or reference; default: what is here")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    model = PlainDLRM(arguments.tables).eval()
    inputs = make_inputs(arguments.tables, arguments.batch)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain_dlrm.pt2"
        torch.export.save(torch.export.export(model, inputs), path)
        exported = torch.export.load(path)

    compiled = dlrmc.compile(exported, target=arguments.target)
    print(compiled.report(ir=True))
    scores = compiled(*inputs)
    with torch.no_grad():
        eager = model(*inputs)
    print("scores", [round(score, 6) for score in scores.flatten().tolist()])
    print(f"largest difference from eager: {(scores - eager).abs().max().item():.3g}")


if __name__ == "__main__":
    main()
