"""Small models around the plain DLRM: an MLP only, two results, an input that no op reads."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.models.plain import PlainConfig, PlainDlrm, mlp


def score_mlp(width: int = 3) -> nn.Sequential:
    """Three linear layers and a sigmoid: dense [B, width] to scores [B, 1]."""
    return mlp((width, 8, 4, 1), nn.Sigmoid).eval()


class TwoResults(PlainDlrm):
    """The scores [B, 1], and the bottom MLP's result [B, dim], by name."""

    def forward(self, dense: torch.Tensor, offsets: Any, indices: Any) -> Any:
        bottom = self.bot(dense)
        bags = [bag(indices[k], offsets[k]) for k, bag in enumerate(self.emb)]
        return {"scores": self.top(self.interact(bottom, bags)), "bottom": bottom}


class UnusedInput(PlainDlrm):
    """Takes the labels [B], as a training step does, and does not look at them."""

    def forward(self, dense: torch.Tensor, offsets: Any, indices: Any, labels: Any = None) -> torch.Tensor:
        return super().forward(dense, offsets, indices)


def build(kind: type[PlainDlrm], config: PlainConfig, seed: int = 0) -> PlainDlrm:
    """The model with fixed weights, in evaluation mode."""
    torch.manual_seed(seed)
    return kind(config).eval().to(config.dtype)
